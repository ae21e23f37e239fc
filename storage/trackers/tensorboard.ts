/**
 * A run as an event file of TensorBoard.
 *
 * Invariants
 * - [EVENTS-1] A record is its length, its data, and a masked CRC-32C of each; data is an `Event` with `simple_value`s.
 * - A value of zero is written too: TensorBoard takes one that is absent for none.
 * - [EVENTS-2] A longer run's file begins with that of the shorter one, so TensorBoard follows it while it grows.
 */
import protobuf from 'protobufjs'
import type { ScalarRow, TrackedRun, TrackerFile } from './tracked-run.ts'

const schema = `
syntax = "proto3";
message Event { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
message Summary {
  message Value { string tag = 1; optional float simple_value = 2; }
  repeated Value value = 1;
}
`

const eventProto = protobuf.parse(schema, { keepCase: true }).root.lookupType('Event')

/** TensorBoard takes the folders under its own for runs, and in them what has `.tfevents.` in its name. */
export function tensorboardFiles({ id, created, rows }: TrackedRun): readonly TrackerFile[] {
  const version = { wall_time: created / 1000, file_version: 'brain.Event:2' }
  const content = Buffer.concat([version, ...rows.map(eventOf)].map(recordOf))
  return [{ path: `${id}/events.out.tfevents.perdure`, content }]
}

function eventOf({ step, time, scalars }: ScalarRow): object {
  const value = scalars.map(([tag, number]) => ({ tag, simple_value: number }))
  return { wall_time: time / 1000, step, summary: { value } }
}

function recordOf(event: object): Buffer {
  const data = eventProto.encode(eventProto.create(event)).finish()
  const record = Buffer.alloc(8 + 4 + data.byteLength + 4)
  record.writeBigUInt64LE(BigInt(data.byteLength), 0)
  record.writeUInt32LE(maskedCrc(record.subarray(0, 8)), 8)
  record.set(data, 12)
  record.writeUInt32LE(maskedCrc(data), 12 + data.byteLength)
  return record
}

/** Rotated and moved, so that a checksum of data that holds checksums stays a good one. */
function maskedCrc(data: Uint8Array): number {
  const crc = crc32c(data)
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}

/** Castagnoli's polynomial, its bits reversed. */
const polynomial = 0x82f63b78

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1
  return crc
})

export function crc32c(data: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of data) crc = (crc >>> 8) ^ (crcTable[(crc ^ byte) & 0xff] ?? 0)
  return (crc ^ 0xffffffff) >>> 0
}
