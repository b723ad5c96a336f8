SELECT
  json_array(o.host, o.pid) AS key,
  o.event_id AS opened,
  o.ts + INTERVAL 1 HOUR AS found_at
FROM events AS o
WHERE o.event_type = 'session_opened'
  AND o.service = 'sshd'
  AND NOT EXISTS (
    FROM events AS c
    WHERE c.event_type = 'session_closed'
      AND c.service = 'sshd'
      AND c.host = o.host
      AND c.pid IS NOT DISTINCT FROM o.pid
      AND c.event_id > o.event_id
      AND c.ts < o.ts + INTERVAL 1 HOUR
  )
