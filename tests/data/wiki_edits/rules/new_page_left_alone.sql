SELECT
  json_array(m.channel, m.page) AS key,
  m.event_id AS made,
  m.ts + INTERVAL 1 HOUR AS found_at
FROM events AS m
ANTI JOIN events AS t
  ON t.channel = m.channel
  AND t.page = m.page
  AND t."user" <> m."user"
  AND t.event_id > m.event_id
  AND t.ts < m.ts + INTERVAL 1 HOUR
WHERE m.is_new AND NOT m.is_robot
