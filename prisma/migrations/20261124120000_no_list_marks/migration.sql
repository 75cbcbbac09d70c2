-- Pages far back are counted from the nearer end of the list instead.
DROP TRIGGER "clinic_marks_cleared" ON "tenant";
DROP TRIGGER "clinic_marks_made" ON "tenant";
DROP TRIGGER "product_marks_cleared" ON "tenant";
DROP TRIGGER "product_marks_made" ON "tenant";
DROP FUNCTION "clear_list_marks"();
DROP FUNCTION "make_list_marks"();
DROP TABLE "list_mark";
