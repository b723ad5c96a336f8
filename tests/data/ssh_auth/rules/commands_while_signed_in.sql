SELECT json_array(a."user") AS key, a.event_id AS accepted, c.event_id AS command
FROM events AS a
JOIN events AS c
  ON c."user" IS NOT DISTINCT FROM a."user"
  AND c.event_id > a.event_id
  AND c.ts < a.ts + INTERVAL 4 MINUTES
WHERE a.event_type = 'auth_accepted' AND c.event_type = 'sudo_command'
