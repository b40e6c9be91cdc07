// Purchases and subscriptions. The server validates the shop's receipt.

import { type CallOptions, path } from "./requests.ts";
import type { Session } from "./session.ts";
import { defined, toDate, toDateIfAny } from "./values.ts";

const SHOPS = ["apple", "google", "huawei", "facebookinstant"] as const;
const ENVIRONMENTS = ["unknown", "sandbox", "production"] as const;

export type Shop = (typeof SHOPS)[number];
export type ShopEnvironment = (typeof ENVIRONMENTS)[number];

/** Receipt of a shop. */
export type Receipt =
  | { readonly shop: "apple" | "google" | "facebookinstant"; readonly receipt: string }
  | { readonly shop: "huawei"; readonly receipt: string; readonly signature: string };

export interface Purchase {
  readonly userId: string;
  readonly productId: string;
  readonly transactionId: string;
  readonly shop: Shop;
  readonly environment: ShopEnvironment;
  /** True if the receipt was validated before, so the purchase has been rewarded already. */
  readonly wasSeenBefore: boolean;
  readonly purchasedAt: Date;
  readonly refundedAt: Date | undefined;
  /** Raw answer of the shop. */
  readonly shopAnswer: string;
}

export interface Subscription {
  readonly userId: string;
  readonly productId: string;
  readonly originalTransactionId: string;
  readonly shop: Shop;
  readonly environment: ShopEnvironment;
  readonly isActive: boolean;
  readonly purchasedAt: Date;
  readonly expiresAt: Date | undefined;
  readonly refundedAt: Date | undefined;
  readonly shopAnswer: string;
}

export interface ValidateOptions extends CallOptions {
  /** Stores the purchase, so that it counts once. True by default. */
  readonly persist?: boolean;
}

const PAGE_SUBSCRIPTIONS = 100;

export class Purchases {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** Validates a receipt; resolves with the purchases in it. */
  async validate(receipt: Receipt, options: ValidateOptions = {}): Promise<Purchase[]> {
    const body = defined({ ...receiptBody(receipt), persist: options.persist });
    const call = { method: "POST", path: `/v2/iap/purchase/${receipt.shop}`, body } as const;
    const { validated_purchases = [] } = await this.session.call<{ validated_purchases?: WirePurchase[] }>(call, options);
    return validated_purchases.map(purchaseOf);
  }

  /** Validates the receipt of a subscription. */
  async validateSubscription(shop: "apple" | "google", receipt: string, options: ValidateOptions = {}): Promise<Subscription> {
    const body = defined({ receipt, persist: options.persist });
    const call = { method: "POST", path: `/v2/iap/subscription/${shop}`, body } as const;
    return subscriptionOf((await this.session.call<{ validated_subscription: WirePurchase }>(call, options)).validated_subscription);
  }

  /** Returns the player's subscription to a product. */
  async subscription(productId: string, options?: CallOptions): Promise<Subscription> {
    const call = { method: "GET", path: path`/v2/iap/subscription/${productId}`, isIdempotent: true } as const;
    return subscriptionOf(await this.session.call<WirePurchase>(call, options));
  }

  /** Returns a page of the player's subscriptions. */
  async subscriptions(
    options: CallOptions & { readonly limit?: number; readonly cursor?: string } = {},
  ): Promise<{ readonly subscriptions: readonly Subscription[]; readonly cursor: string | undefined }> {
    const body = defined({ limit: options.limit ?? PAGE_SUBSCRIPTIONS, cursor: options.cursor });
    const call = { method: "POST", path: "/v2/iap/subscription", body, isIdempotent: true } as const;
    const found = await this.session.call<{ validated_subscriptions?: WirePurchase[]; cursor?: string }>(call, options);
    return { subscriptions: (found.validated_subscriptions ?? []).map(subscriptionOf), cursor: found.cursor };
  }
}

interface WirePurchase {
  readonly user_id?: string;
  readonly product_id?: string;
  readonly transaction_id?: string;
  readonly original_transaction_id?: string;
  readonly store?: number;
  readonly environment?: number;
  readonly seen_before?: boolean;
  readonly active?: boolean;
  readonly purchase_time: string;
  readonly expiry_time?: string;
  readonly refund_time?: string;
  readonly provider_response?: string;
}

/** Each shop's receipt has another field name. */
function receiptBody(receipt: Receipt): Record<string, string> {
  switch (receipt.shop) {
    case "apple":
      return { receipt: receipt.receipt };
    case "google":
      return { purchase: receipt.receipt };
    case "huawei":
      return { purchase: receipt.receipt, signature: receipt.signature };
    case "facebookinstant":
      return { signed_request: receipt.receipt };
  }
}

function common(wire: WirePurchase) {
  return {
    userId: wire.user_id ?? "",
    productId: wire.product_id ?? "",
    shop: SHOPS[wire.store ?? 0] ?? "apple",
    environment: ENVIRONMENTS[wire.environment ?? 0] ?? "unknown",
    purchasedAt: toDate(wire.purchase_time),
    // A time of zero means that there was none.
    refundedAt: toDateIfAny(wire.refund_time?.startsWith("1970-01-01T00:00:00") === true ? undefined : wire.refund_time),
    shopAnswer: wire.provider_response ?? "",
  };
}

function purchaseOf(wire: WirePurchase): Purchase {
  return { ...common(wire), transactionId: wire.transaction_id ?? "", wasSeenBefore: wire.seen_before ?? false };
}

function subscriptionOf(wire: WirePurchase): Subscription {
  const { original_transaction_id = "", active = false } = wire;
  return { ...common(wire), originalTransactionId: original_transaction_id, isActive: active, expiresAt: toDateIfAny(wire.expiry_time) };
}
