WITH RECURSIVE lines AS (
  SELECT
    *,
    invoice_no IS DISTINCT FROM lag(invoice_no)
      OVER (PARTITION BY customer_id ORDER BY event_id) AS is_first
  FROM events
  WHERE event_type = 'sale' AND customer_id IS NOT NULL
),
visits AS (
  SELECT *, count(*) FILTER (is_first) OVER (PARTITION BY customer_id ORDER BY event_id) AS visit
  FROM lines
),
-- Any line may be the first; the other two begin the visits behind.
candidates AS (
  SELECT
    a.customer_id,
    a.event_id AS first_id,
    c.event_id AS last_id,
    [a.event_id, b.event_id, c.event_id] AS ids
  FROM visits AS a
  JOIN visits AS b ON b.customer_id = a.customer_id AND b.visit = a.visit + 1 AND b.is_first
  JOIN visits AS c ON c.customer_id = a.customer_id AND c.visit = a.visit + 2 AND c.is_first
  WHERE c.ts < a.ts + INTERVAL 14 DAYS
),
chosen AS (
  SELECT customer_id, min(first_id) AS first_id, arg_min(last_id, first_id) AS last_id
  FROM candidates
  GROUP BY customer_id
  UNION ALL
  SELECT * FROM (
    SELECT n.customer_id, min(n.first_id), arg_min(n.last_id, n.first_id)
    FROM chosen AS c
    JOIN candidates AS n ON n.customer_id = c.customer_id AND n.first_id >= c.last_id
    GROUP BY n.customer_id
  )
)
SELECT json_array(customer_id) AS key, ids AS visit
FROM candidates
SEMI JOIN chosen USING (first_id)
