-- Pages with damaged bytes: no change is let out of the page, no check reads beyond it.
select zheap_unit_page_damage(1, 500);
select zheap_unit_page_damage(null, 500);
