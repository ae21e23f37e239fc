/** The scripts of official items. */

/** Languages that scripts may be written in. */
export const languages = ['bash', 'python', 'c', 'c++'] as const
export type Language = (typeof languages)[number]

/** A script with its text. */
export interface Script {
  readonly language: Language
  readonly code: string
}
