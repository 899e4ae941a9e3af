-- a new order; each client has a warehouse of its own, or shares one
\set w 1 + :client_id % :warehouses
\set d random(1, 10)
\set c 1 + ((random(0, 1023) | random(1, :customers)) + 42) % :customers
\set lines random(5, 15)
CALL neword(:w, :warehouses, :d, :c, :lines, :items);
