WITH neighbours AS (
  SELECT
    *,
    lead(event_id) OVER log AS next_id,
    lead(event_type) OVER log AS next_type,
    lead(pid) OVER log AS next_pid,
    lead(host) OVER log AS next_host
  FROM events
  WINDOW log AS (ORDER BY event_id)
)
SELECT json_array() AS key, event_id AS opened, next_id AS closed
FROM neighbours
WHERE event_type = 'session_opened'
  AND next_type = 'session_closed'
  AND next_pid = pid
  AND next_host = host
