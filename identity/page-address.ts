/**
 * Addresses of work on the page of `perdure ui`: fragments, which follow the page's own address.
 *
 * Invariants
 * - An address is made of the identity alone, so that workflows and commands can write it down without asking the page.
 * - Slashes of an identity stay, so that addresses read well; all else is encoded.
 * - This module is pure and safe inside workflows.
 */

/** The kinds of work with a place on the page: runs, the parents of episodes, episodes, experiments. */
export type PagePlace = 'runs' | 'groups' | 'episodes' | 'experiments'

/** @example pageAddress('episodes', 'first/g1/s0/a0') // '#/episodes/first/g1/s0/a0' */
export function pageAddress(place: PagePlace, id: string): string {
  return `#/${place}/${id.split('/').map(encodeURIComponent).join('/')}`
}
