WITH created AS (SELECT * FROM events WHERE event_type = 'user_created'),
with_password AS (
  SELECT c."user", c.ts, c.event_id AS created, min(p.event_id) AS password
  FROM created AS c
  JOIN events AS p
    ON p.event_type = 'password_changed' AND p."user" = c."user" AND p.event_id > c.event_id
  GROUP BY ALL
)
SELECT json_array(w."user") AS key, w.created, w.password, min(s.event_id) AS sign_in
FROM with_password AS w
JOIN events AS s
  ON s.event_type = 'auth_accepted'
  AND s.auth_method = 'password'
  AND s.src_ip <> '127.0.0.1'
  AND s."user" = w."user"
  AND s.event_id > w.password
GROUP BY w."user", w.created, w.password, w.ts
HAVING min(s.ts) < w.ts + INTERVAL 1 HOUR
