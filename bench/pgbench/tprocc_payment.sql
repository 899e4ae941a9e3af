-- a payment: 15 of 100 by a customer of another warehouse, 60 of 100 by last name
\set w 1 + :client_id % :warehouses
\set d random(1, 10)
\set far :warehouses > 1 and random(1, 100) <= 15
\set cw case when :far then 1 + (:w + random(0, :warehouses - 2)) % :warehouses else :w end
\set cd case when :far then random(1, 10) else :d end
\set c 1 + ((random(0, 1023) | random(1, :customers)) + 42) % :customers
\set name case when random(1, 100) <= 60 then ((random(0, 255) | random(0, :names - 1)) + 42) % :names else -1 end
\set amount random(100, 500000) / 100.0
CALL payment(:w, :d, :cw, :cd, :c, :name, :amount);
