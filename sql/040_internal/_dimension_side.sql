create function preauth._dimension_side(dimension text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when dimension in (
      'input_tokens', 'cached_input_tokens', 'cache_write_tokens', 'cache_write_1h_tokens', 'input_audio_tokens', 'cached_input_audio_tokens',
      'input_image_tokens', 'cached_input_image_tokens', 'input_video_tokens', 'cached_input_video_tokens') then 'input'
    when dimension in (
      'output_tokens', 'reasoning_tokens', 'output_audio_tokens', 'output_image_tokens', 'output_video_tokens', 'citation_tokens') then 'output'
    when dimension in (
      'requests', 'web_searches', 'web_fetches', 'file_searches', 'map_queries', 'storage_searches', 'social_searches', 'rerank_searches',
      'code_sessions', 'code_executions', 'tool_calls', 'images', 'input_images', 'output_images', 'input_pixels', 'input_characters',
      'output_characters', 'input_text_messages', 'audio_seconds', 'input_audio_seconds', 'output_audio_seconds', 'input_video_seconds',
      'output_video_seconds', 'pages', 'annotated_pages', 'input_document_pages', 'input_annotated_document_pages', 'gpu_seconds') then 'other'
  end;
end
$$;
comment on function preauth._dimension_side(text) is 'Whether a dimension that a price table may name is input (counts towards tiers and prompt_tokens), output or other; null: there is no such dimension.';
