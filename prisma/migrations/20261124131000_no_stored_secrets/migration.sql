-- Stored responses hold no secrets any more (R-67). Earlier ones lose theirs.
UPDATE "idempotency_key" SET "answer" = "answer" #- '{body,secret}' WHERE "operation_id" = 'createWebhookEndpoint';
