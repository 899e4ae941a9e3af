-- the oldest new order of each district is delivered
\set w 1 + :client_id % :warehouses
\set carrier random(1, 10)
CALL delivery(:w, :carrier);
