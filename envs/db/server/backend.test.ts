import { describe, expect, test } from 'vitest'
import { databaseServerMissing, startDatabaseServer } from '../../../test/host/database-server.ts'
import { queries, tables, textsOf } from '../../../worlds/mysql/queries.testing.ts'
import { openServer } from './backend.ts'

const limits = { deadlineMs: 2000, rows: 1000, bytes: 100_000 }

describe.skipIf(databaseServerMissing() !== undefined)('a server', { timeout: 120_000 }, () => {
  test('gives the same as the embedded databases', async () => {
    const server = await startDatabaseServer()
    const backend = await openServer(server.url, limits)
    const database = await backend.open(tables, 'server')
    try {
      const differences: unknown[] = []
      for (const [sql, rows] of queries) {
        const given = textsOf(await database.execute(sql))
        if (JSON.stringify(given) !== JSON.stringify(rows)) differences.push({ sql, given, rows })
      }
      expect(differences).toEqual([])
    } finally {
      await backend.close()
      await server.close()
    }
  })
})
