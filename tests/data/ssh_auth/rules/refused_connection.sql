WITH unknown AS (SELECT * FROM events WHERE event_type = 'invalid_user'),
starts AS (
  -- Begun, and not yet a failure; or begun, and the first failure after it.
  SELECT host, pid, ts, event_id AS unknown, NULL AS failure, event_id AS since FROM unknown
  UNION ALL
  SELECT u.host, u.pid, u.ts, u.event_id, min(f.event_id), min(f.event_id)
  FROM unknown AS u
  JOIN events AS f
    ON f.event_type = 'pam_auth_failure'
    AND f.host = u.host
    AND f.pid IS NOT DISTINCT FROM u.pid
    AND f.event_id > u.event_id
  GROUP BY u.host, u.pid, u.ts, u.event_id
)
SELECT json_array(s.host, s.pid) AS key, s.unknown, s.failure, min(l.event_id) AS "limit"
FROM starts AS s
JOIN events AS l
  ON l.event_type = 'max_auth_exceeded'
  AND l.host = s.host
  AND l.pid IS NOT DISTINCT FROM s.pid
  AND l.event_id > s.since
GROUP BY s.host, s.pid, s.ts, s.unknown, s.failure
HAVING min(l.ts) < s.ts + INTERVAL 14 SECONDS
