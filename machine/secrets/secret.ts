/**
 * Secrets of this process: references to them, `${NAME}` for an environment variable or `${file:PATH}` for the content of a file, and
 * the removal of their values from texts.
 *
 * Invariants
 * - A secret that was filled in is known to this process, and `redact` removes it from every text that is to be kept.
 */
import { readTextSync } from '../files/text-file.ts'

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** A reference whose secret is not here. */
export interface MissingSecret {
  /** Key of the text that holds it, with dots. */
  readonly at: string
  readonly reference: string
  /** In words that follow "needs". */
  readonly needed: string
  readonly cause?: unknown
}

const reference = /\$\{(?:file:([^}]+)|([A-Za-z_]\w*))\}/g

/** Environment variables that hold secrets whenever they are set. */
const secretVariables = [
  'TEMPORAL_API_KEY',
  'PERDURE_PAYLOAD_KEYS',
  'PERDURE_METRICS_TOKEN',
  'PERDURE_CODEC_TOKEN',
  'PERDURE_UI_TOKEN',
  'MLFLOW_TRACKING_TOKEN',
  'MLFLOW_TRACKING_PASSWORD',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
] as const

/** The replacement of a secret in redacted texts. */
const mask = '***'
/** A shorter text is found in too many places by chance. */
const shortestRedacted = 6
const known = new Set<string>()

/**
 * The same value with secrets in the place of their references.
 * @param at names the value
 * @param missing makes the fault that is thrown
 */
export function withReferencesFilled<Value>(
  value: Value,
  at: string,
  missing: (secret: MissingSecret) => Error,
): Value {
  return filled(value as Json, at, missing) as Value
}

function filled(value: Json, at: string, missing: (secret: MissingSecret) => Error): Json {
  if (typeof value === 'string')
    return value.replaceAll(reference, (whole, file: string | undefined, name: string | undefined) => {
      const found = file === undefined ? fromEnvironment(name ?? '') : fromFile(file)
      if ('secret' in found) return remembered(found.secret)
      throw missing({ at, reference: whole, ...found })
    })
  if (Array.isArray(value)) return value.map((each: Json, index) => filled(each, `${at}.${index}`, missing))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, filled(each, `${at}.${name}`, missing)]),
  )
}

type Found = { readonly secret: string } | Pick<MissingSecret, 'needed' | 'cause'>

function fromEnvironment(name: string): Found {
  const secret = process.env[name]
  if (secret !== undefined && secret !== '') return { secret }
  return { needed: `the environment variable ${name}, which is not set here` }
}

function fromFile(file: string): Found {
  try {
    return { secret: readTextSync(file).trim() }
  } catch (cause) {
    return { needed: `the file ${file}, which cannot be read here`, cause }
  }
}

/** Makes a secret known, so that no kept text holds it. @returns it */
export function remembered(secret: string): string {
  if (secret.length >= shortestRedacted) {
    known.add(secret)
    // A URL holds the password in its escaped form, JSON with quotes escaped.
    known.add(encodeURIComponent(secret))
    known.add(JSON.stringify(secret).slice(1, -1))
  }
  return secret
}

/** The text without any secret that this process knows of. */
export function redact(text: string): string {
  let redacted = text
  for (const name of secretVariables) {
    const value = process.env[name]
    if (value !== undefined && value.length >= shortestRedacted) redacted = redacted.replaceAll(value, mask)
  }
  for (const secret of known) if (redacted.includes(secret)) redacted = redacted.replaceAll(secret, mask)
  return redacted
}
