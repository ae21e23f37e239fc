/**
 * A run as an offline folder of Weights & Biases, for `wandb sync`.
 *
 * Invariants
 * - [OFFLINE-1] The file is a log of LevelDB's form (blocks of 32 KiB, CRC-32 of kind and data) of `Record` messages.
 * - [OFFLINE-2] Rows are numbered from 0 in their order; curves are drawn over `step`, which every row has.
 * - [OFFLINE-3] It always ends with the end of a run: what there is at any time can be uploaded.
 */
import { crc32 } from 'node:zlib'
import protobuf from 'protobufjs'
import { type ScalarRow, type TrackedRun, type TrackerFile, trackedId } from './tracked-run.ts'

// Names and numbers are those of wandb's messages.
const schema = `
syntax = "proto3";
message Record {
  int64 num = 1;
  oneof record_type {
    HistoryRecord history = 2;
    SummaryRecord summary = 3;
    MetricRecord metric = 12;
    RunRecord run = 17;
    RunExitRecord exit = 18;
    HeaderRecord header = 21;
  }
}
message HeaderRecord { VersionInfo version_info = 1; }
message VersionInfo { string producer = 1; string min_consumer = 2; }
message Item { string key = 1; repeated string nested_key = 2; string value_json = 16; }
message HistoryRecord { repeated Item item = 1; HistoryStep step = 2; }
message HistoryStep { int64 num = 1; }
message SummaryRecord { repeated Item update = 1; }
message ConfigRecord { repeated Item update = 1; }
message MetricRecord { string glob_name = 2; string step_metric = 4; MetricOptions options = 6; }
message MetricOptions { bool step_sync = 1; bool hidden = 2; bool defined = 3; }
message Timestamp { int64 seconds = 1; int32 nanos = 2; }
message RunRecord {
  string run_id = 1;
  string project = 3;
  ConfigRecord config = 4;
  string display_name = 8;
  Timestamp start_time = 17;
}
message RunExitRecord { int32 exit_code = 1; int32 runtime = 2; }
`

const recordProto = protobuf.parse(schema, { keepCase: true }).root.lookupType('Record')

const project = 'perdure'

export function wandbFiles(run: TrackedRun): readonly TrackerFile[] {
  const id = trackedId(run)
  const messages = recordsOf(run, id).map((record, index) =>
    recordProto.encode(recordProto.create({ num: index + 1, ...record })).finish(),
  )
  const stamp = new Date(run.created)
    .toISOString()
    .replaceAll(/[-:]|\..*/g, '')
    .replace('T', '_')
  return [{ path: `wandb/offline-run-${stamp}-${id}/run-${id}.wandb`, content: logOf(messages) }]
}

function recordsOf({ id: name, created, config, rows }: TrackedRun, id: string): readonly object[] {
  const last = new Map(rows.flatMap((row, index) => keysOf(row, index, created)))
  return [
    // Consumers older than this know no form of the file that this one could have.
    { header: { version_info: { producer: 'perdure', min_consumer: '0.13.0' } } },
    {
      run: {
        run_id: id,
        project,
        display_name: name,
        start_time: { seconds: Math.floor(created / 1000), nanos: (created % 1000) * 1_000_000 },
        config: {
          update: Object.entries(config).map(([key, value]) => ({ key, value_json: JSON.stringify(value) })),
        },
      },
    },
    { metric: { glob_name: '*', step_metric: 'step', options: { step_sync: true, defined: true } } },
    ...rows.map((row, index) => ({
      history: { item: itemsOf(keysOf(row, index, created)), step: { num: index } },
    })),
    { summary: { update: itemsOf([...last]) } },
    { exit: { exit_code: 0, runtime: Math.round(secondsBetween(created, rows.at(-1)?.time ?? created)) } },
  ]
}

function keysOf({ step, time, scalars }: ScalarRow, index: number, created: number) {
  return [
    ...scalars,
    ['step', step],
    ['_step', index],
    ['_timestamp', time / 1000],
    ['_runtime', secondsBetween(created, time)],
  ] as const
}

function secondsBetween(from: number, to: number): number {
  return Math.max(0, to - from) / 1000
}

/** A name is one key, whatever it holds. */
function itemsOf(keys: readonly (readonly [string, number])[]) {
  return keys.map(([name, value]) => ({ nested_key: [name], value_json: JSON.stringify(value) }))
}

const blockBytes = 32_768
const headerBytes = 7
const kinds = { full: 1, first: 2, middle: 3, last: 4 } as const

/** Beginning of each file: a name, a number and a version. */
const fileHeader = Buffer.from([0x3a, 0x57, 0x26, 0x42, 0xe1, 0xbe, 0])

function logOf(messages: readonly Uint8Array[]): Buffer {
  const parts: Uint8Array[] = [fileHeader]
  let position: number = fileHeader.byteLength
  for (const message of messages) {
    let isBegun = false
    for (let done = 0; done < message.byteLength; ) {
      const room = blockBytes - (position % blockBytes)
      const data = message.subarray(done, done + Math.max(0, room - headerBytes))
      const chunk =
        room < headerBytes ? Buffer.alloc(room) : chunkOf(kindOf(message, done, data, isBegun), data)
      parts.push(chunk)
      position += chunk.byteLength
      done += data.byteLength
      isBegun ||= room >= headerBytes
    }
  }
  return Buffer.concat(parts)
}

/** The first chunk of a message is empty where a block has room for nothing but its header. */
function kindOf(message: Uint8Array, done: number, data: Uint8Array, isBegun: boolean): number {
  const isLast = done + data.byteLength === message.byteLength
  if (isBegun) return isLast ? kinds.last : kinds.middle
  return isLast ? kinds.full : kinds.first
}

function chunkOf(kind: number, data: Uint8Array): Buffer {
  const chunk = Buffer.alloc(headerBytes + data.byteLength)
  chunk.writeUInt32LE(crc32(data, crc32(Uint8Array.of(kind))), 0)
  chunk.writeUInt16LE(data.byteLength, 4)
  chunk.writeUInt8(kind, 6)
  chunk.set(data, headerBytes)
  return chunk
}
