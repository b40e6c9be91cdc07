-- Accounts, sessions, storage, wallets, leaderboards, purchases, profiles and the outbox.
--
-- Types are those of PostgreSQL, which SQLite takes too. Times are milliseconds since 1970. Texts that hold JSON are
-- checked before they are written. {by_key} lays the rows of SQLite in the order of their key.

CREATE TABLE users (
    id UUID NOT NULL PRIMARY KEY,
    username TEXT NOT NULL UNIQUE,
    display_name TEXT NOT NULL DEFAULT '',
    avatar_url TEXT NOT NULL DEFAULT '',
    lang_tag TEXT NOT NULL DEFAULT 'en',
    location TEXT NOT NULL DEFAULT '',
    timezone TEXT NOT NULL DEFAULT '',
    metadata TEXT NOT NULL DEFAULT '{}',
    wallet TEXT NOT NULL DEFAULT '{}',
    email TEXT,
    password TEXT,
    custom_id TEXT,
    role TEXT NOT NULL DEFAULT 'player',
    edge_count BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    verified_at BIGINT,
    disabled_at BIGINT,
    -- Tokens that were issued before this no longer count.
    sessions_valid_from BIGINT NOT NULL DEFAULT 0
){by_key};
-- Most accounts have neither, and what is in no index costs nothing there.
CREATE UNIQUE INDEX users_by_email ON users (email) WHERE email IS NOT NULL;
CREATE UNIQUE INDEX users_by_custom_id ON users (custom_id) WHERE custom_id IS NOT NULL;
CREATE INDEX users_by_sessions_valid_from ON users (sessions_valid_from) WHERE sessions_valid_from > 0;

CREATE TABLE user_devices (
    id TEXT NOT NULL PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL
){by_key};
CREATE INDEX user_devices_by_user ON user_devices (user_id);

-- Who someone is elsewhere: by an external provider and the id it gives.
CREATE TABLE user_identities (
    provider TEXT NOT NULL,
    subject TEXT NOT NULL,
    user_id UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (provider, subject)
){by_key};
CREATE UNIQUE INDEX user_identities_by_user ON user_identities (user_id, provider);

-- Single-use codes for password resets and email verification; only their hash is kept.
CREATE TABLE account_codes (
    hash {bytes} NOT NULL PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    purpose TEXT NOT NULL,
    email TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
){by_key};
CREATE INDEX account_codes_by_user ON account_codes (user_id, purpose);

-- Users whose data was erased, so that a restored backup does not bring them back.
CREATE TABLE erasures (
    user_id UUID NOT NULL PRIMARY KEY,
    erased_at BIGINT NOT NULL
){by_key};

-- The history is written a moment later, when the user may be gone, so there is no reference.
CREATE TABLE sessions (
    id UUID NOT NULL PRIMARY KEY,
    user_id UUID NOT NULL,
    state TEXT NOT NULL,
    -- How often it was refreshed: a refresh token of an earlier number was used before.
    generation BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    refreshed_at BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT,
    reason TEXT NOT NULL DEFAULT '',
    address TEXT NOT NULL DEFAULT '',
    method TEXT NOT NULL DEFAULT ''
){by_key};
CREATE INDEX sessions_by_user ON sessions (user_id, created_at);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
CREATE INDEX sessions_by_revocation ON sessions (expires_at) WHERE revoked_at IS NOT NULL;

-- An object without an owner has the id of zeros, so there is no reference.
CREATE TABLE storage_objects (
    collection TEXT NOT NULL,
    key TEXT NOT NULL,
    user_id UUID NOT NULL,
    value TEXT NOT NULL,
    version TEXT NOT NULL,
    permission_read BIGINT NOT NULL,
    permission_write BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (collection, user_id, key)
);
-- Lists of what everyone may read. What is not public, most of it, takes no place here.
CREATE INDEX storage_objects_public ON storage_objects (collection, key, user_id) WHERE permission_read = 2;
CREATE INDEX storage_objects_by_user ON storage_objects (user_id);

CREATE TABLE wallet_ledger (
    id UUID NOT NULL PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    changeset TEXT NOT NULL,
    metadata TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
){by_key};
CREATE INDEX wallet_ledger_by_user ON wallet_ledger (user_id, created_at, id);

CREATE TABLE leaderboards (
    id TEXT NOT NULL PRIMARY KEY,
    authoritative BOOLEAN NOT NULL,
    sort_order BIGINT NOT NULL,
    operator BIGINT NOT NULL,
    reset_schedule TEXT NOT NULL DEFAULT '',
    metadata TEXT NOT NULL DEFAULT '{}',
    created_at BIGINT NOT NULL,
    -- Up to when resets were told to those who asked for it.
    reset_told_until BIGINT NOT NULL DEFAULT 0
){by_key};

-- A period ends at its expiry, in seconds since 1970; 0 is a board without resets.
CREATE TABLE leaderboard_records (
    leaderboard_id TEXT NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
    expiry BIGINT NOT NULL,
    owner_id UUID NOT NULL,
    username TEXT NOT NULL,
    score BIGINT NOT NULL,
    subscore BIGINT NOT NULL,
    num_score BIGINT NOT NULL,
    max_num_score BIGINT NOT NULL DEFAULT 0,
    metadata TEXT NOT NULL DEFAULT '{}',
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (leaderboard_id, expiry, owner_id)
){by_key};
CREATE INDEX leaderboard_records_by_owner ON leaderboard_records (owner_id);

CREATE TABLE purchases (
    store BIGINT NOT NULL,
    transaction_id TEXT NOT NULL,
    user_id UUID NOT NULL,
    product_id TEXT NOT NULL,
    environment BIGINT NOT NULL,
    purchased_at BIGINT NOT NULL,
    refunded_at BIGINT NOT NULL DEFAULT 0,
    response TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (store, transaction_id)
){by_key};
CREATE INDEX purchases_by_user ON purchases (user_id, purchased_at, transaction_id);

CREATE TABLE subscriptions (
    store BIGINT NOT NULL,
    original_transaction_id TEXT NOT NULL,
    user_id UUID NOT NULL,
    product_id TEXT NOT NULL,
    environment BIGINT NOT NULL,
    purchased_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    refunded_at BIGINT NOT NULL DEFAULT 0,
    response TEXT NOT NULL,
    notification TEXT NOT NULL DEFAULT '',
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (store, original_transaction_id)
){by_key};
CREATE INDEX subscriptions_by_user ON subscriptions (user_id, purchased_at, original_transaction_id);

CREATE TABLE profiles (
    user_id UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    data TEXT NOT NULL DEFAULT '{}',
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, id)
){by_key};

-- Which profile is the active one. It may name one that is gone; then it is repaired when it is read.
CREATE TABLE profile_selections (
    user_id UUID NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    profile_id TEXT NOT NULL
){by_key};

CREATE TABLE outbox (
    id UUID NOT NULL PRIMARY KEY,
    topic TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    parked BOOLEAN NOT NULL,
    last_error TEXT
){by_key};
CREATE INDEX outbox_by_due ON outbox (parked, due_at, id);
