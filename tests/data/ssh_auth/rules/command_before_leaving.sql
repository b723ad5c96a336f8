WITH first_command AS (
  SELECT a."user", a.ts, a.event_id AS accepted, min(c.event_id) AS command
  FROM events AS a
  JOIN events AS c
    ON c."user" IS NOT DISTINCT FROM a."user"
    AND c.event_id > a.event_id
    AND c.event_type = 'sudo_command'
  WHERE a.event_type = 'auth_accepted'
  GROUP BY ALL
)
SELECT json_array(f."user") AS key, f.accepted, f.command
FROM first_command AS f
JOIN events AS c ON c.event_id = f.command
WHERE c.ts < f.ts + INTERVAL 3 MINUTES
  AND NOT EXISTS (
    FROM events AS left_
    WHERE left_.event_type = 'session_closed'
      AND left_.service = 'sshd'
      AND left_."user" IS NOT DISTINCT FROM f."user"
      AND left_.event_id BETWEEN f.accepted AND f.command
  )
