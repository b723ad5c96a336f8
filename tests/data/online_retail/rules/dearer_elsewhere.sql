WITH sales AS (SELECT *, upper(stock_code) AS article FROM events WHERE event_type = 'sale')
SELECT json_array(c.article) AS key, c.event_id AS cheap, min(d.event_id) AS dear
FROM sales AS c
JOIN sales AS d USING (article)
WHERE c.unit_price > 0
  AND c.quantity >= 10
  AND d.event_id > c.event_id
  AND d.unit_price >= 2 * c.unit_price
GROUP BY c.article, c.event_id, c.ts
HAVING min(d.ts) < c.ts + INTERVAL 1 DAY
