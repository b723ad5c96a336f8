-- Passwords tried on one connection, one after the other without anything in between, until the
-- server cut it off or the other side hung up.
SELECT * FROM logins MATCH_RECOGNIZE (
  PARTITION BY host, pid
  ORDER BY ts
  MEASURES
    LAST(failed.src_ip) AS address,
    LAST(failed.user) AS account,
    COUNT(failed.*) AS tries,
    CLASSIFIER() AS ended_by
  PATTERN (asked failed+ (cut_off | hung_up)) WITHIN INTERVAL '5' MINUTE
  DEFINE
    asked AS event_type = 'pam_auth_failure',
    failed AS event_type = 'auth_failed',
    cut_off AS event_type = 'max_auth_exceeded',
    hung_up AS event_type = 'conn_closed'
)
