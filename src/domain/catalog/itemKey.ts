/** The identity of an encounter's item: its category and subcategory, UUIDs in any letter case. */
export interface ItemIdentity {
  readonly categoryId: string;
  readonly subcategoryId: string;
}

export function itemKey({ categoryId, subcategoryId }: ItemIdentity): string {
  return `${categoryId} ${subcategoryId}`.toLowerCase();
}
