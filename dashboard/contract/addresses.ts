/**
 * Addresses of the page: a deep link to everything that it shows.
 *
 * They are fragments, so that they work on a server and in the folder of a report alike. Server and command line print
 * them, and the page reads them.
 *
 * Invariants
 * - [ADDRESSES-1] Reading an address gives back what it was made of, whatever characters names have.
 */
import { pageAddress } from '../../identity/page-address.ts'
import type { PolicyName } from './comparison.ts'
import type { EpisodeSort } from './episodes.ts'

/** A view of the page. */
export type PageView =
  | { readonly view: 'runs' }
  | { readonly view: 'run'; readonly run: string; readonly update?: number }
  | { readonly view: 'experiment'; readonly experiment: string }
  | { readonly view: 'comparison'; readonly policies: readonly PolicyName[] }
  | {
      readonly view: 'episodes'
      readonly filter: string
      readonly sort?: EpisodeSort
      readonly descending?: boolean
    }
  | { readonly view: 'group'; readonly parent: string }
  | {
      readonly view: 'episode'
      readonly episode: string
      readonly turn?: number
      /** Position among the tokens of the episode. */
      readonly token?: number
    }

/** @example addressOf({ view: 'episode', episode: 'first/g1/s0/a0', turn: 2 }) // '#/episodes/first/g1/s0/a0?turn=2' */
export function addressOf(view: PageView): string {
  switch (view.view) {
    case 'runs':
      return '#/'
    case 'run':
      return `${pageAddress('runs', view.run)}${query({ update: view.update })}`
    case 'experiment':
      return pageAddress('experiments', view.experiment)
    case 'comparison':
      return `#/compare${query({ of: view.policies.map(policyText).join(',') })}`
    case 'episodes': {
      const { filter, sort, descending = true } = view
      return `#/episodes${query({ filter, sort: sort && `${descending ? '-' : ''}${sort}` })}`
    }
    case 'group':
      return pageAddress('groups', view.parent)
    case 'episode':
      return `${pageAddress('episodes', view.episode)}${query({ turn: view.turn, token: view.token })}`
  }
}

/** The view at an address; undefined where it is none. */
export function viewAt(address: string): PageView | undefined {
  const [way = '', search = ''] = address.replace(/^#?\/?/, '').split('?', 2)
  const [place = '', ...rest] = way.split('/').map(decoded)
  const asked = new URLSearchParams(search)
  const id = rest.join('/')
  const number = (name: string) => {
    const text = asked.get(name)
    return text !== null && /^\d{1,12}$/.test(text) ? { [name]: Number(text) } : {}
  }
  if (place === '' || (place === 'runs' && id === '')) return { view: 'runs' }
  if (place === 'runs') return { view: 'run', run: id, ...number('update') }
  if (place === 'experiments' && id !== '') return { view: 'experiment', experiment: id }
  if (place === 'compare') return { view: 'comparison', policies: policiesOf(asked.get('of') ?? '') }
  if (place === 'groups' && id !== '') return { view: 'group', parent: id }
  if (place !== 'episodes') return undefined
  if (id !== '') return { view: 'episode', episode: id, ...number('turn'), ...number('token') }
  const order = asked.get('sort')
  return {
    view: 'episodes',
    filter: asked.get('filter') ?? '',
    ...(order === null
      ? {}
      : { sort: order.replace(/^-/, '') as EpisodeSort, descending: order.startsWith('-') }),
  }
}

/** Policies as a text names them. @example policiesOf('first,second@20') */
export function policiesOf(text: string): readonly PolicyName[] {
  return text
    .split(',')
    .filter((name) => name !== '')
    .map((name) => {
      const [, run = name, version] = /^(.*)@(\d{1,9})$/.exec(name) ?? []
      return version === undefined ? { run } : { run, version: Number(version) }
    })
}

function policyText({ run, version }: PolicyName): string {
  return version === undefined ? run : `${run}@${version}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function query(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const asked = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined && value !== '') asked.set(name, String(value))
  const text = asked.toString()
  return text === '' ? '' : `?${text}`
}
