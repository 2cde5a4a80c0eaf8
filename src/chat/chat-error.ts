/** A refusal of the server. The message is a sentence for people. */
export class ChatError extends Error {
  /** E.g. `waiting`: an approval is pending, so the message was refused. `docs/reference/errors.md` lists all codes. */
  readonly code: string;
  /** HTTP status. 0: the page failed before a repeated request, and `cause` has its error. */
  readonly status: number;
  /** Path of the wrong field, header or parameter. */
  readonly field: string | undefined;
  /** Figures and ids that explain the error. */
  readonly details: Readonly<Record<string, unknown>> | undefined;
  /** True if the server may have done what was asked, because the answer to an earlier attempt was lost. */
  readonly mayBeDone: boolean;

  constructor(status: number, problem: Partial<ReportedProblem>, mayBeDone = false) {
    super(problem.detail ?? `the server answered with the status ${status}`);
    this.name = 'ChatError';
    this.status = status;
    this.code = problem.code ?? 'server_unavailable';
    this.field = problem.field;
    this.details = problem.details;
    this.mayBeDone = mayBeDone;
  }
}

interface ReportedProblem {
  readonly code: string;
  readonly detail: string;
  readonly field: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;
}

/** The refusal of a repeated request, or an error of the page before its repetition. The first attempt may have succeeded. */
export function refuseRepeated(error: unknown): ChatError {
  if (error instanceof ChatError) {
    const { status, code, message: detail, field, details } = error;
    return new ChatError(status, { code, detail, field, details }, true);
  }
  const unsure = new ChatError(0, { detail: error instanceof Error ? error.message : String(error) }, true);
  unsure.cause = error;
  return unsure;
}

/** Reads a refusal. A proxy in front of the server may answer with another text, of which only the status counts. */
export async function readRefusal(response: Response): Promise<ChatError> {
  const text = await response.text().catch(() => '');
  try {
    const problem: unknown = JSON.parse(text);
    if (typeof problem === 'object' && problem !== null) return new ChatError(response.status, problem);
  } catch {
    // No JSON.
  }
  return new ChatError(response.status, {});
}

/** Statuses after which the same request may succeed. */
const PASSING = new Set([408, 429, 502, 503, 504]);

/** A full mailbox stays full until turns have ended, so the page shows it. */
export function mayPass({ status, code }: ChatError): boolean {
  return PASSING.has(status) && code !== 'mailbox_full';
}
