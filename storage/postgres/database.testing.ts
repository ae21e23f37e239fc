/** A PostgreSQL server for tests: the one that PERDURE_TEST_STORE names, or a database `perdure_test` on this machine. */
import { randomUUID } from 'node:crypto'
import { reasonOf } from '../../faults/reason.ts'
import { openLine } from './client.ts'

const address = process.env.PERDURE_TEST_STORE ?? 'postgresql://postgres@127.0.0.1:5432/perdure_test'

/** Why tests of PostgreSQL are skipped; undefined where a server answers. */
export async function missingServer(): Promise<string | undefined> {
  const line = await openLine(address)
  try {
    await line.query('select 1 as one')
    return undefined
  } catch (error) {
    return reasonOf(error)
  } finally {
    await line.close()
  }
}

/** Address of a schema that no one has used. */
export function newPlace(): string {
  const place = new URL(address)
  place.searchParams.set('schema', `t${randomUUID().replaceAll('-', '')}`)
  return place.href
}

/** Drops the schema of a place. */
export async function dropPlace(place: string): Promise<void> {
  const line = await openLine(place)
  await line.query(`drop schema if exists "${new URL(place).searchParams.get('schema')}" cascade`)
  await line.close()
}
