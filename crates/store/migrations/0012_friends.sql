-- Relations of users. A relation is an edge of each of the two; a block is an edge of the one who blocks.
-- `users.edge_count` is the number of edges of a user. An account is locked while its edges change, so there are no
-- references.
CREATE TABLE friend_edges (
    user_id UUID NOT NULL,
    other_id UUID NOT NULL,
    -- 0 friend, 1 invite sent, 2 invite received, 3 blocked.
    state BIGINT NOT NULL,
    -- JSON object that the owner of the edge set.
    metadata TEXT NOT NULL DEFAULT '{}',
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, other_id)
){by_key};
CREATE INDEX friend_edges_by_state ON friend_edges (user_id, state, updated_at, other_id);
CREATE INDEX friend_edges_by_other ON friend_edges (other_id, state);
