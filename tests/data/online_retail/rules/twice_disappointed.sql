WITH returned AS (
  SELECT b.customer_id, b.event_id AS bought, b.ts, min(r.event_id) AS returned, min(r.ts) AS end_ts
  FROM events AS b
  JOIN events AS r USING (customer_id, stock_code)
  WHERE b.event_type = 'sale' AND r.event_type = 'cancellation' AND r.event_id > b.event_id
  GROUP BY ALL
),
-- What is bought first after the first return; given back, or not.
next_sales AS (
  SELECT r.bought, min(n.event_id) AS next_bought
  FROM returned AS r
  JOIN events AS n USING (customer_id)
  WHERE n.event_type = 'sale' AND n.event_id > r.returned
  GROUP BY r.bought
)
SELECT
  json_array(a.customer_id) AS key,
  [a.bought, z.bought] AS bought,
  [a.returned, z.returned] AS returned
FROM returned AS a
JOIN next_sales AS n ON n.bought = a.bought
JOIN returned AS z ON z.bought = n.next_bought
WHERE z.end_ts < a.ts + INTERVAL 90 DAYS
