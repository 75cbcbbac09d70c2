-- No sweep looks for spent invitations any longer.
DROP INDEX "client_invitation_idx";
