//! Roles in a group, and the rules by which they change. No I/O.

use crate::error::{GrpcCode, ServiceError};

/// Role of a user in a group. A lower number has more rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupRole {
    /// Changes every other role, and deletes the group. A group has at least one.
    Superadmin = 0,
    /// Changes the group, adds users, and changes the roles below.
    Admin = 1,
    /// Member without rights over others.
    Member = 2,
    /// Asked to join a closed group. Not a member.
    JoinRequest = 3,
    /// Cannot join or be added.
    Banned = 4,
}

/// Change of another user's role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoleChange {
    /// Ends a membership, refuses a join request or lifts a ban.
    Kick,
    /// Ends a membership or refuses a join request, and keeps the user out.
    Ban,
    /// Raises a member by one role.
    Promote,
    /// Lowers a member by one role.
    Demote,
}

/// Rights of the one who changes a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// Server code, which may do everything.
    Server,
    /// User with this role, or without one.
    User(Option<GroupRole>),
}

/// Text that clients know, by its beginning.
pub(super) const LAST_SUPERADMIN: ServiceError = ServiceError::new(
    GrpcCode::FailedPrecondition,
    "Cannot leave group when you are the last superadmin. Promote another member to superadmin, or delete the group.",
);
pub(super) const LAST_SUPERADMIN_STAYS: ServiceError = ServiceError::new(
    GrpcCode::FailedPrecondition,
    "The last superadmin of a group cannot be kicked, banned or demoted. Promote another member to superadmin first.",
);
pub(super) const ADMIN_REQUIRED: ServiceError =
    ServiceError::new(GrpcCode::PermissionDenied, "Only admins and superadmins of the group may do this.");
pub(super) const SUPERADMIN_REQUIRED: ServiceError =
    ServiceError::new(GrpcCode::PermissionDenied, "Only superadmins of the group may do this.");
const NOT_ABOVE: ServiceError = ServiceError::new(
    GrpcCode::PermissionDenied,
    "You may change only the roles of users below your own role. Ask a superadmin of the group.",
);
const ONESELF: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "You cannot kick or ban yourself. Leave the group instead.");
const NOT_MEMBER: ServiceError = ServiceError::new(
    GrpcCode::FailedPrecondition,
    "The user is not a member of the group. Add the user before you promote or demote.",
);

impl GroupRole {
    /// All roles, by their number.
    pub const ALL: [GroupRole; 5] =
        [GroupRole::Superadmin, GroupRole::Admin, GroupRole::Member, GroupRole::JoinRequest, GroupRole::Banned];

    /// Returns the role of a number.
    #[must_use]
    pub fn from_number(number: i64) -> Option<GroupRole> {
        GroupRole::ALL.into_iter().find(|role| role.number() == number)
    }

    /// Returns the number in the protocol and in the database.
    #[must_use]
    pub fn number(self) -> i64 {
        self as i64
    }

    /// Returns true for members with any rights. A join request and a ban are no membership.
    #[must_use]
    pub fn is_member(self) -> bool {
        self <= GroupRole::Member
    }

    /// Returns true for admins and superadmins.
    #[must_use]
    pub fn is_admin(self) -> bool {
        self <= GroupRole::Admin
    }
}

impl Authority {
    /// Rejects those who are neither admin nor superadmin.
    pub fn check_admin(self) -> Result<(), ServiceError> {
        match self {
            Authority::Server => Ok(()),
            Authority::User(Some(role)) if role.is_admin() => Ok(()),
            Authority::User(_) => Err(ADMIN_REQUIRED),
        }
    }

    /// Rejects those who are not superadmin.
    pub fn check_superadmin(self) -> Result<(), ServiceError> {
        match self {
            Authority::Server | Authority::User(Some(GroupRole::Superadmin)) => Ok(()),
            Authority::User(_) => Err(SUPERADMIN_REQUIRED),
        }
    }

    /// Returns true if the join requests and bans of a group are shown.
    #[must_use]
    pub fn sees_outsiders(self) -> bool {
        self.check_admin().is_ok()
    }

    /// Rejects a change of a user with this role.
    fn check_above(self, target: Option<GroupRole>) -> Result<(), ServiceError> {
        match (self, target) {
            (Authority::Server | Authority::User(Some(GroupRole::Superadmin)), _) | (_, None) => Ok(()),
            (Authority::User(Some(own)), Some(target)) if own < target => Ok(()),
            (Authority::User(_), Some(_)) => Err(NOT_ABOVE),
        }
    }
}

impl RoleChange {
    /// Returns the role after the change; none for a user without a role. An unchanged role means that nothing is to be
    /// done.
    pub fn apply(
        self,
        by: Authority,
        target: Option<GroupRole>,
        is_oneself: bool,
    ) -> Result<Option<GroupRole>, ServiceError> {
        by.check_admin()?;
        match self {
            RoleChange::Kick | RoleChange::Ban if is_oneself => Err(ONESELF),
            RoleChange::Kick => by.check_above(target).map(|()| None),
            RoleChange::Ban => by.check_above(target).map(|()| Some(GroupRole::Banned)),
            RoleChange::Promote | RoleChange::Demote => {
                by.check_above(target)?;
                match (target, self) {
                    (Some(GroupRole::Member), RoleChange::Promote) => Ok(Some(GroupRole::Admin)),
                    (Some(GroupRole::Admin | GroupRole::Superadmin), RoleChange::Promote) => {
                        Ok(Some(GroupRole::Superadmin))
                    }
                    (Some(GroupRole::Superadmin), _) => Ok(Some(GroupRole::Admin)),
                    (Some(GroupRole::Admin | GroupRole::Member), _) => Ok(Some(GroupRole::Member)),
                    (None | Some(GroupRole::JoinRequest | GroupRole::Banned), _) => Err(NOT_MEMBER),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use GroupRole::{Admin, Banned, JoinRequest, Member, Superadmin};

    #[test]
    fn nobody_but_a_superadmin_changes_equals_or_those_above() {
        for change in [RoleChange::Kick, RoleChange::Ban, RoleChange::Promote, RoleChange::Demote] {
            for own in GroupRole::ALL.map(Some).into_iter().chain([None]) {
                for target in GroupRole::ALL {
                    let outcome = change.apply(Authority::User(own), Some(target), false);
                    let may = own == Some(Superadmin) || (own == Some(Admin) && target > Admin);
                    let is_denied = matches!(&outcome, Err(error) if error.code == GrpcCode::PermissionDenied);
                    assert_eq!(is_denied, !may, "{change:?} {own:?} {target:?}: {outcome:?}");
                    if let (Ok(Some(role)), Some(own)) = (outcome, own) {
                        assert!(role >= own, "nobody raises others above their own role");
                    }
                }
            }
        }
    }

    #[test]
    fn a_change_is_one_step() {
        let by = Authority::Server;
        for (from, promoted, demoted) in
            [(Superadmin, Superadmin, Admin), (Admin, Superadmin, Member), (Member, Admin, Member)]
        {
            assert_eq!(RoleChange::Promote.apply(by, Some(from), false), Ok(Some(promoted)));
            assert_eq!(RoleChange::Demote.apply(by, Some(from), false), Ok(Some(demoted)));
        }
        for from in [None, Some(JoinRequest), Some(Banned)] {
            assert_eq!(RoleChange::Promote.apply(by, from, false), Err(NOT_MEMBER));
            assert_eq!(RoleChange::Demote.apply(by, from, false), Err(NOT_MEMBER));
        }
    }

    #[test]
    fn nobody_kicks_or_bans_themselves() {
        for change in [RoleChange::Kick, RoleChange::Ban] {
            let outcome = change.apply(Authority::User(Some(Superadmin)), Some(Superadmin), true);
            assert_eq!(outcome, Err(ONESELF));
        }
    }

    #[test]
    fn roles_have_the_numbers_of_the_protocol() {
        for number in -1..=5 {
            let role = GroupRole::from_number(number);
            assert_eq!(role.map(GroupRole::number), (0..=4).contains(&number).then_some(number));
        }
        assert!(Member.is_member() && !JoinRequest.is_member() && Admin.is_admin() && !Member.is_admin());
    }
}
