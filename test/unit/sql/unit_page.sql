-- Pages: random transactions on one page against a model, with every change
-- encoded, decoded and replayed; aborted ones are put back from their undo.
select zheap_unit_page(1, 100);
select zheap_unit_page(null, 100);
