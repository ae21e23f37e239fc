/**
 * The preparation of a namespace before runs work in it: search attributes, and a long retention.
 *
 * Invariants
 * - Preparing twice changes nothing.
 * - A server of the user's own keeps its retention; only missing search attributes are added.
 */
import type { Connection } from '@temporalio/client'
import { msToTs } from '@temporalio/common/lib/time.js'
import { searchAttributes } from '../../../contract/messages.ts'
import { isUnreached } from '../../calls/call-status.ts'
import { TemporalFault } from '../fault.ts'

/** Histories of finished work stay readable that long; the development server's own value is one day. */
const retentionMs = 365 * 24 * 60 * 60 * 1000

const searchAttributeKeys = Object.values(searchAttributes)

/** `IndexedValueType` of Temporal's API. */
const indexedTypes = {
  TEXT: 1,
  KEYWORD: 2,
  INT: 3,
  DOUBLE: 4,
  BOOL: 5,
  DATETIME: 6,
  KEYWORD_LIST: 7,
} as const

/** The attributes as `temporal server start-dev --search-attribute` takes them. */
export function searchAttributeFlags(): string[] {
  const words = {
    TEXT: 'Text',
    KEYWORD: 'Keyword',
    INT: 'Int',
    DOUBLE: 'Double',
    BOOL: 'Bool',
    DATETIME: 'Datetime',
    KEYWORD_LIST: 'KeywordList',
  } as const
  return searchAttributeKeys.map((key) => `${key.name}=${words[key.type]}`)
}

/**
 * Adds the search attributes that are missing.
 * @throws TemporalFault `search_attributes` when the server does not let us, with the command to do it by hand
 */
export async function ensureSearchAttributes(connection: Connection, namespace: string): Promise<void> {
  try {
    const present = await connection.operatorService.listSearchAttributes({ namespace })
    const missing = searchAttributeKeys.filter((key) => !(key.name in present.customAttributes))
    if (missing.length === 0) return
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((key) => [key.name, indexedTypes[key.type]])),
    })
  } catch (error) {
    if (isUnreached(error)) throw error
    const commands = searchAttributeFlags().map((flag) => {
      const [name, type] = flag.split('=')
      return `  temporal operator search-attribute create --namespace ${namespace} --name ${name} --type ${type}`
    })
    throw new TemporalFault(
      'search_attributes',
      `The namespace ${namespace} lacks Perdure's search attributes and does not let them be added. An operator can:\n${commands.join('\n')}`,
      { cause: error },
    )
  }
}

/** Keeps finished histories for a year. */
export async function raiseRetention(connection: Connection, namespace: string): Promise<void> {
  const described = await connection.workflowService.describeNamespace({ namespace })
  const seconds = Number(described.config?.workflowExecutionRetentionTtl?.seconds ?? 0)
  if (seconds * 1000 >= retentionMs) return
  await connection.workflowService.updateNamespace({
    namespace,
    config: { workflowExecutionRetentionTtl: msToTs(retentionMs) },
  })
}
