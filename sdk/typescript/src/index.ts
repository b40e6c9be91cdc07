// TypeScript client of Aether: realtime rooms, accounts, storage, leaderboards, tournaments, friends, groups, chat, parties
// and matches.

export { Client, type ClientOptions } from "./client.ts";
export { AetherError, type ErrorCode, type LocalCode, type OriginCode, type RoomCode, type ServiceCode, type SocketCode } from "./error.ts";
export { type Store, browserStore, defaultStore, memoryStore } from "./store.ts";
export { type Time, systemTime } from "./time.ts";

export { Account, type AccountChange, type OwnAccount, type User } from "./services/account.ts";
export {
  type Bracket,
  type BracketDetail,
  type BracketEntrant,
  type BracketFormat,
  type BracketListOptions,
  type BracketMatch,
  type BracketPage,
  type BracketPhase,
  Brackets,
  type BracketSide,
  type MatchReport,
  type MatchResult,
} from "./services/bracket.ts";
export { ChatHistory, type ChatMessage, type MessageKind, type MessageListOptions, type MessagePage, type SessionCall } from "./services/chat.ts";
export type { Credentials, GameCenterProof, LinkableCredentials } from "./services/credentials.ts";
export { type ClientEvent, Events } from "./services/event.ts";
export { type Friend, type FriendListOptions, type FriendOfFriend, type FriendOfFriendPage, type FriendPage, Friends, type FriendSource, type FriendState, type UserChoice } from "./services/friend.ts";
export {
  type Group,
  type GroupChange,
  type GroupListOptions,
  type GroupMember,
  type GroupMemberPage,
  type GroupPage,
  type GroupRole,
  Groups,
  type MemberListOptions,
  type Membership,
  type MembershipPage,
  type NewGroup,
} from "./services/group.ts";
export { Leaderboard } from "./services/leaderboard.ts";
export { NOTIFICATION_CODES, type Notification, type NotificationListOptions, type NotificationPage, Notifications } from "./services/notification.ts";
export { PartyDirectory, type PartyEntry, type PartyListOptions, type PartyPage } from "./services/party.ts";
export { type Profile, Profiles } from "./services/profile.ts";
export {
  type Purchase,
  Purchases,
  type Receipt,
  type Shop,
  type ShopEnvironment,
  type Subscription,
  type ValidateOptions,
} from "./services/purchase.ts";
export type { LeaderboardRecord, Operator, RecordListOptions, RecordPage, RecordWrite } from "./services/record.ts";
export { type RemoteValueOptions, RemoteValues } from "./services/remote_value.ts";
export { type FiledReport, type NewReport, Reports } from "./services/report.ts";
export { type Call, type CallOptions, Requests, type RequestsOptions } from "./services/requests.ts";
export {
  type Guest,
  type Role,
  type RoomEntry,
  type RoomType,
  Server,
  type ServerInfo,
  type WebTransportAddress,
} from "./services/server.ts";
export { type Identity, Session, type SessionOptions, type SignInOptions } from "./services/session.ts";
export {
  type ListOptions,
  type ObjectId,
  type ObjectPage,
  type ObjectWrite,
  type ReadPermission,
  Storage,
  type StoredObject,
  type WriteOptions,
  type WritePermission,
  type Written,
} from "./services/storage.ts";
export { type Tournament, type TournamentListOptions, type TournamentPage, Tournaments } from "./services/tournament.ts";
export type { Integer, Json, JsonObject } from "./services/values.ts";

export { type Attention, type Occasion, pageAttention } from "./realtime/attention.ts";
export type {
  CloseReason,
  Command,
  Core,
  CorePhase,
  CoreStatistics,
  Entity,
  Fields,
  JoinMetadata,
  Manifest,
  RoomChoice,
  RoomEvent,
  Send,
  Vector,
  Welcome,
} from "./realtime/core.ts";
export type { OfKind, Stream } from "./realtime/events.ts";
export { type CoreKind, type JoinOptions, type JoinParts, joinRoom } from "./realtime/join.ts";
export { JsonCore, type JsonCoreOptions } from "./realtime/json/core.ts";
export type { Motion, Motions } from "./realtime/json/track.ts";
export { Room, type RoomParts, type RoomPhase, type RoomStatistics } from "./realtime/room.ts";
export type { Rules, Settings, Surroundings } from "./realtime/rules.ts";
export { TransportChooser, type TransportOpeners, type TransportPreference } from "./realtime/transport/chooser.ts";
export { type Conditions, type Delivery, Conditioner } from "./realtime/transport/conditioner.ts";
export { Network } from "./realtime/transport/conditions.ts";
export type {
  DeliveryOrder,
  Encoding,
  OpenTransport,
  Transport,
  TransportEnd,
  TransportEvents,
  TransportKind,
} from "./realtime/transport/transport.ts";
export { type WebSocketClass, webSocketAt } from "./realtime/transport/websocket.ts";
export { hasWebTransport, webTransportAt } from "./realtime/transport/webtransport.ts";
export { WasmCore, type WasmCoreOptions } from "./realtime/wasm/core.ts";
export { type WasmModule, type WasmSource, loadWasm } from "./realtime/wasm/module.ts";

// Types alone: `client.openSocket` loads the code of the socket, which `@aether-game/client/socket` exports.
export type { BracketUpdate } from "./socket/bracket_update.ts";
export type { Chat, ChatJoinOptions } from "./socket/chat.ts";
export type { ChannelJoin, ChannelKind, ChatChannel, MessageReceipt } from "./socket/chat_channel.ts";
export type { Gap } from "./socket/chat_log.ts";
export type { ConnectionParts, SocketPhase } from "./socket/connection.ts";
export type { LeaveReason, MatchedUser, NotRestored, SocketEvent, StreamName } from "./socket/events.ts";
export type { Match, MatchChoice, MatchJoinOptions, Matches, SendOptions } from "./socket/match.ts";
export type { Matchmaker, Ticket } from "./socket/matchmaker.ts";
export type { SocketOptions, SocketParts } from "./socket/open.ts";
export type { Parties } from "./socket/parties.ts";
export type { Party, PartyOptions } from "./socket/party.ts";
export type { Socket } from "./socket/socket.ts";
export type { Status } from "./socket/status.ts";
export type { ValueWatch } from "./socket/value_watch.ts";
export type { Presence } from "./socket/wire.ts";

export {
  Choice,
  type Link,
  type ObjectPlace,
  Refusal,
  type RefusalCode,
  type TransportWish,
  type Ways,
  type WebTransportPlace,
  type Whole,
} from "./deprecated.ts";
