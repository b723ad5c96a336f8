WITH minor AS (SELECT * FROM events WHERE is_minor),
steps AS (
  SELECT a.event_id AS before_id, min(b.event_id) AS after_id
  FROM minor AS a
  JOIN minor AS b USING (channel, "user")
  WHERE b.event_id > a.event_id AND b.page <> a.page
  GROUP BY a.event_id
),
short_steps AS (
  SELECT s.*
  FROM steps AS s
  JOIN events AS a ON a.event_id = s.before_id
  JOIN events AS b ON b.event_id = s.after_id
  WHERE b.ts < a.ts + INTERVAL 2 MINUTES
)
SELECT
  json_array(e.channel, e."user") AS key,
  e.event_id AS one,
  s.after_id AS two,
  t.after_id AS three
FROM events AS e
JOIN short_steps AS s ON s.before_id = e.event_id
JOIN short_steps AS t ON t.before_id = s.after_id
WHERE NOT e.is_robot
