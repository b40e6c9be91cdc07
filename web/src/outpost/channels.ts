// What the room shows and takes, as the game's schema names it.

export type Pair = [number, number];

/** The kinds of structures. */
export type KindName = "Wall" | "Door" | "Fence" | "Turret";

/** In the channel "movement": players, as they are predicted. */
export interface Movement {
  position: Pair;
  velocity: Pair;
  /** In radians. */
  aim: number;
  /** Steps until it can shoot again. */
  reload: number;
}

/** In the channel "bodies": what the server alone decides about the same players. */
export interface Body {
  readonly player: number;
  readonly health: number;
  readonly material: number;
  readonly appearance: number;
  readonly is_protected: boolean;
}

/** In the channel "structures". */
export interface Structure {
  /** The middle of its cell. */
  readonly position: Readonly<Pair>;
  readonly kind: KindName;
  readonly health: number;
  /** The builder's number, or 0 while that player is away. */
  readonly builder: number;
}

/** In the channel "projectile". */
export interface Projectile {
  readonly position: Readonly<Pair>;
  readonly velocity: Readonly<Pair>;
  readonly shooter: number;
}

/** In the channel "presence": everyone who is in the room, wherever they are. */
export interface Presence {
  readonly player: number;
  readonly name: string;
  readonly appearance: number;
  readonly hits: number;
  readonly falls: number;
  readonly structures: number;
}

/** What a player does in one step. */
export interface Controls {
  readonly push: Pair;
  readonly aim: number;
  readonly fire: boolean;
}
