export type { VersionChange } from '../../compaction/diff.ts';
export type { CategorySize, Piece } from '../../compaction/inspection/breakdown.ts';
export type { Cost } from '../../compaction/inspection/cost.ts';
export type { Identifier, IdentifierFates } from '../../compaction/inspection/identifiers.ts';
export type { Category, EntryState } from '../../compaction/inspection/names.ts';
export type { OutlineEntry } from '../../compaction/inspection/outline.ts';
export type {
  CompactionReport,
  ContextCount,
  ReportedRange,
  ReportedSummary,
} from '../../compaction/inspection/report.ts';
export type { AccessKey, KeyState, Scope } from '../../domain/access-key.ts';
export type { OutputPart, ToolOutput } from '../../domain/agent.ts';
export type { Backoff, ConversationState, LeftRange, ListedState, Quarantine } from '../../domain/conversation.ts';
export type { ConversationAbout } from '../../domain/conversation-about.ts';
export type {
  ApprovalRefusalCode,
  ConversationEvent,
  EventBody,
  PassEndKind,
  ReportedCall,
  VersionReport,
} from '../../domain/conversation-event.ts';
export type { Durability } from '../../domain/durability.ts';
export { type ErrorCode, type ErrorContext, isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
export type { AnswerSchema } from '../../domain/final-answer.ts';
export type { OpenCall } from '../../domain/history.ts';
export type { NamedConversation } from '../../domain/ids.ts';
export type { JsonSchema } from '../../domain/json-schema.ts';
export type { FixedWeight } from '../../domain/limits.ts';
export type { LeaveCause, LogEntry, Message, Role, ToolCall, WeighedMessage, Weight } from '../../domain/message.ts';
export type { Encoding, ToolDescription } from '../../domain/model.ts';
export type { PassOutcome, Reason } from '../../domain/pass.ts';
export type { PolicyInput } from '../../domain/policy.ts';
export type { NamedThreshold, PlanningPolicy, RequestFacts, ThresholdName } from '../../domain/request-facts.ts';
export type { SizeAnchor, SizeRecord } from '../../domain/size.ts';
export type { ToolData, ToolProgress } from '../../domain/tool-notes.ts';
export type {
  AnswerEnd,
  AnswerKind,
  CanceledTurnView,
  CompletedTurnView,
  FailedTurnView,
  OnBusy,
  OpenTurnView,
  RecordedDecision,
  TurnAnswer,
  TurnFacts,
  TurnFailure,
  TurnMetadata,
  TurnState,
  TurnUsage,
  TurnView,
  Waiting,
  WaitingCall,
  WaitingTurnView,
  WaitKind,
} from '../../domain/turn.ts';
export type { TurnContext } from '../../domain/turn-context.ts';
export type { OwnAnswer, OwnTool, TurnOwn, TurnToolChoice } from '../../domain/turn-own.ts';
export type { Segment, SeqRange, Version } from '../../domain/version.ts';
export type { Webhook, WebhookEventName, WebhookHealth } from '../../domain/webhook.ts';
export type { FailedTurn } from '../../store/failed-turns.ts';
export type { ListedConversation, WaitingTurn } from '../../store/listings.ts';
export type { OpenTurn, OpenTurns } from '../../store/open-turns.ts';
export type { ServedAgent } from '../../store/presence.ts';
export type { RedisTls } from '../../store/redis/address.ts';
export type { TurnClaim } from '../../store/turns.ts';
export type { DoneCall, DoneCalls, WorkDone, WorkPlace } from '../../summarize/progress/work-done.ts';
export type { HistoryNote } from '../../wire/histories/notes.ts';
export type * from '../contract/agent-types.ts';
export type { AnswerOptions, CallAnswer } from '../contract/call-answers.ts';
export type { TurnfoldClient } from '../contract/client.ts';
export type { AgentSnapshot, ContextMethods, ContextView } from '../contract/contexts.ts';
export type { ConversationToken, ConversationTokenInput, TokenMethods } from '../contract/conversation-tokens.ts';
export type {
  ConversationChange,
  ConversationDetails,
  ConversationMethods,
  ConversationPage,
  ConversationsFor,
  ConversationsInput,
  ConversationView,
  Fork,
  ForkInput,
  OpenCallView,
  UsageInput,
} from '../contract/conversations.ts';
export type { EnqueueAnswer, EnqueuedTurn, EnqueueMethods, RedriveInput } from '../contract/enqueue.ts';
export type {
  EnqueueInput,
  ForeignPart,
  InputPart,
  ReferencedPart,
  StoredPart,
  WebPart,
} from '../contract/enqueue-input.ts';
export type {
  Breakdown,
  BreakdownInput,
  InspectionMethods,
  Outline,
  OutlineInput,
  ReportInput,
} from '../contract/inspection.ts';
export type {
  Appended,
  AppendFor,
  AppendInput,
  ForeignMessage,
  LogPart,
  MessageMethods,
} from '../contract/messages.ts';
export type { CancelOptions, ContextPoint, ConversationName } from '../contract/names.ts';
export type {
  ApprovalInput,
  DecisionView,
  ProposalMethods,
  ProposalView,
  RejectionInput,
} from '../contract/proposals.ts';
export type { EventOptions, EventOrLoss, StreamMethods, StreamOptions } from '../contract/streams.ts';
export type * from '../contract/turn-parts.ts';
export type { TurnStep, TurnSteps } from '../contract/turn-steps.ts';
export type {
  FailedInput,
  OpenTurnsInput,
  ResultOptions,
  TurnMethods,
  WaitingInput,
  WaitingPage,
} from '../contract/turns.ts';
export type { DryPlan, DryRunInput, RestoreInput, RollbackInput, VersionMethods } from '../contract/versions.ts';
export type { WorkDoneMethods } from '../contract/work-done.ts';
export type { AccessKeyInput, AccessKeys, AccessKeyView, IssuedKey } from './access-keys.ts';
export type { Authentication, Grant, Refusal } from './authentication.ts';
export type { ClientOptions } from './client-options.ts';
export { type OpenClient, openClient } from './open-client.ts';
export type { AddedWebhook, WebhookInput, Webhooks, WebhookTest, WebhookView } from './webhooks.ts';
