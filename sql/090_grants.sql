select preauth._lock_down();
