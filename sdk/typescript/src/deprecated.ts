// Earlier names of exports, kept for one version.

import { AetherError, type ErrorCode } from "./error.ts";
import { TransportChooser, type TransportOpeners, type TransportPreference } from "./realtime/transport/chooser.ts";
import type { DeliveryOrder } from "./realtime/transport/transport.ts";
import type { WebTransportAddress } from "./services/server.ts";
import type { ObjectId } from "./services/storage.ts";
import type { Integer } from "./services/values.ts";

/** @deprecated Use `AetherError`. */
export const Refusal = AetherError;
/** @deprecated Use `AetherError`. */
export type Refusal = AetherError;
/** @deprecated Use `ErrorCode`. */
export type RefusalCode = ErrorCode;
/** @deprecated Use `TransportChooser`. */
export const Choice = TransportChooser;
/** @deprecated Use `TransportChooser`. */
export type Choice = TransportChooser;
/** @deprecated Use `TransportPreference`. */
export type TransportWish = TransportPreference;
/** @deprecated Use `TransportOpeners`. */
export type Ways = TransportOpeners;
/** @deprecated Use `DeliveryOrder`. */
export type Link = DeliveryOrder;
/** @deprecated Use `WebTransportAddress`. */
export type WebTransportPlace = WebTransportAddress;
/** @deprecated Use `ObjectId`. */
export type ObjectPlace = ObjectId;
/** @deprecated Use `Integer`. */
export type Whole = Integer;
