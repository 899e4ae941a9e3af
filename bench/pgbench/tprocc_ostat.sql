-- a customer's last order, 60 of 100 by last name
\set w 1 + :client_id % :warehouses
\set d random(1, 10)
\set c 1 + ((random(0, 1023) | random(1, :customers)) + 42) % :customers
\set name case when random(1, 100) <= 60 then ((random(0, 255) | random(0, :names - 1)) + 42) % :names else -1 end
CALL ostat(:w, :d, :c, :name);
