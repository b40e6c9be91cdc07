// Components and input of the room, as the game's schema names them.

export type Pair = [number, number];

/** The kinds of structures. */
export type KindName = "Wall" | "Door" | "Fence" | "Turret";

/** Channel "movement": players, predicted. */
export interface Movement {
  position: Pair;
  velocity: Pair;
  /** In radians. */
  aim: number;
  /** Ticks until the next shot. */
  reload: number;
}

/** Channel "bodies": state of the same players that only the server decides. */
export interface Body {
  readonly player: number;
  readonly health: number;
  readonly material: number;
  readonly appearance: number;
  readonly is_protected: boolean;
}

/** Channel "build". */
export interface Structure {
  /** Center of its cell. */
  readonly position: Readonly<Pair>;
  readonly kind: KindName;
  readonly health: number;
  /** Number of the builder, or 0 while that player is away. */
  readonly builder: number;
}

/** Channel "projectile". */
export interface Projectile {
  readonly position: Readonly<Pair>;
  readonly velocity: Readonly<Pair>;
  readonly shooter: number;
}

/** Channel "presence": every player in the room, at any distance. */
export interface Presence {
  readonly player: number;
  readonly name: string;
  readonly appearance: number;
  readonly hits: number;
  readonly falls: number;
  readonly structures: number;
}

/** Input of one tick. */
export interface Controls {
  readonly push: Pair;
  readonly aim: number;
  readonly fire: boolean;
}
