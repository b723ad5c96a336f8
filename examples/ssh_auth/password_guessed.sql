-- Three or more failed sign-ins, then a successful one from the same address, within five minutes.
-- What lies between them is taken as between: a pattern has to say what every row is.
SELECT * FROM logins MATCH_RECOGNIZE (
  PARTITION BY src_ip
  ORDER BY ts, event_id
  MEASURES
    FIRST(failed.ts) AS first_try,
    COUNT(failed.*) AS tries,
    accepted.user AS account
  PATTERN (failed (between*? failed){2,} between*? accepted)
  WITHIN INTERVAL '5' MINUTE
  DEFINE
    failed AS event_type = 'auth_failed',
    accepted AS event_type = 'auth_accepted'
)
