/** A report: answers of the routes in one document, for the page without a server. */

export interface Report {
  readonly made: number
  /** The run that it is about. */
  readonly run: string
  /** By route, as `routes.ts` writes them; what is not here is not part of the report. */
  readonly answers: Readonly<Record<string, unknown>>
}

/** Id of the element that holds it, as `application/json`. */
export const reportElement = 'perdure-report'
