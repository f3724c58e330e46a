"""Usage objects, whole, as four providers send them."""

CHAT = {
    "prompt_tokens": 27147,
    "completion_tokens": 351,
    "total_tokens": 27498,
    "prompt_tokens_details": {"cached_tokens": 27146, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 100,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 7,
        "rejected_prediction_tokens": 3,
    },
}

MESSAGES = {
    "input_tokens": 3,
    "cache_creation_input_tokens": 12304,
    "cache_read_input_tokens": 40,
    "cache_creation": {"ephemeral_5m_input_tokens": 2304, "ephemeral_1h_input_tokens": 10000},
    "output_tokens": 550,
    "output_tokens_details": {"thinking_tokens": 50},
    "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 7},
    "service_tier": "standard",
    "inference_geo": "not_available",
}

GENERATE = {
    "promptTokenCount": 1000,
    "cachedContentTokenCount": 400,
    "candidatesTokenCount": 1350,
    "thoughtsTokenCount": 30,
    "toolUsePromptTokenCount": 20,
    "totalTokenCount": 2400,
    "promptTokensDetails": [
        {"modality": "TEXT", "tokenCount": 442},
        {"modality": "IMAGE", "tokenCount": 258},
        {"modality": "DOCUMENT", "tokenCount": 200},
        {"modality": "AUDIO", "tokenCount": 60},
        {"modality": "VIDEO", "tokenCount": 40},
    ],
    "cacheTokensDetails": [
        {"modality": "TEXT", "tokenCount": 300},
        {"modality": "IMAGE", "tokenCount": 100},
    ],
    "candidatesTokensDetails": [{"modality": "IMAGE", "tokenCount": 1290}],
    "toolUsePromptTokensDetails": [{"modality": "TEXT", "tokenCount": 20}],
    "trafficType": "ON_DEMAND",
}

CONVERSE = {
    "inputTokens": 4,
    "outputTokens": 100,
    "totalTokens": 1904,
    "cacheReadInputTokens": 1700,
    "cacheWriteInputTokens": 100,
    "cacheDetails": [{"ttl": "1h", "inputTokens": 60}, {"ttl": "5m", "inputTokens": 40}],
}
