/** What identifies an item of an encounter: its category and subcategory, UUIDs in any case. */
export interface ItemIdentity {
  readonly categoryId: string;
  readonly subcategoryId: string;
}

/** The identity as one text, to look items up by. */
export function itemKey({ categoryId, subcategoryId }: ItemIdentity): string {
  return `${categoryId} ${subcategoryId}`.toLowerCase();
}
