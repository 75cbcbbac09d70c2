-- What happens to webhook endpoints is an event, too.
ALTER TYPE "event_type" ADD VALUE 'webhook.ping';
ALTER TYPE "event_type" ADD VALUE 'webhook.disabled';
