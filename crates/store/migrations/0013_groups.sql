-- Groups and their members.

CREATE TABLE groups (
    id UUID NOT NULL PRIMARY KEY,
    -- User who created the group; nil if that account was erased.
    creator UUID NOT NULL,
    name TEXT NOT NULL,
    -- Name in lower case, as bytes: both databases order these in the same way.
    name_key {bytes} NOT NULL,
    -- Keys of names that look alike: see `aether-names`.
    name_skeleton TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    avatar_url TEXT NOT NULL DEFAULT '',
    lang_tag TEXT NOT NULL DEFAULT '',
    metadata TEXT NOT NULL DEFAULT '{}',
    open BOOLEAN NOT NULL,
    -- Number of members with a role up to 2. A transaction that changes it locks this row.
    edge_count BIGINT NOT NULL,
    max_count BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
){by_key};
CREATE UNIQUE INDEX groups_by_skeleton ON groups (name_skeleton);
CREATE UNIQUE INDEX groups_by_folded ON groups (name_folded);
-- Searches by the beginning of a name, and by language.
CREATE INDEX groups_by_name ON groups (name_key, id);
CREATE INDEX groups_by_language ON groups (lang_tag, id);
CREATE INDEX groups_by_creator ON groups (creator);

-- Roles: 0 superadmin, 1 admin, 2 member, 3 join request, 4 banned.
CREATE TABLE group_members (
    group_key UUID NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    user_id UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role BIGINT NOT NULL,
    -- When the user became a member, or asked, or was banned.
    since BIGINT NOT NULL,
    PRIMARY KEY (group_key, user_id)
){by_key};
CREATE INDEX group_members_by_role ON group_members (group_key, role, since, user_id);
CREATE INDEX group_members_by_user ON group_members (user_id, role, group_key);

-- Words that groups are found by, in lower case.
CREATE TABLE group_tags (
    group_key UUID NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (group_key, tag)
){by_key};
CREATE INDEX group_tags_by_tag ON group_tags (tag, group_key);
