-- one row, updated by everybody
UPDATE hotrow SET v = v + 1 WHERE id = 1;
