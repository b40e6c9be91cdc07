//! Operations of the API with their requests and answers.
//!
//! Every operation is a type of this module, which identifies its handler, its hooks and its route. A second route to
//! the same operation (a storage listing with the user in the path, a tournament record sent by POST, a function called
//! by GET) is not a separate operation.

use prost::{Message, Name};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Empty,
    api::{self, *},
};

/// Operation of the API.
pub trait Operation: Send + Sync + 'static {
    /// Name of the operation, for registering hooks.
    const NAME: &'static str;
    /// Request message.
    type Request: Clone + Default + Serialize + DeserializeOwned + Message + Name + Send + Sync + 'static;
    /// Answer message.
    type Answer: Clone + Default + Serialize + DeserializeOwned + Message + Name + Send + Sync + 'static;
}

/// Visitor of operations.
pub trait Visitor {
    /// Visits the operation `O`.
    fn visit<O: Operation>(&mut self);
}

macro_rules! operations {
    ($($name:ident: $request:ty => $answer:ty,)*) => {
        $(
            #[doc = concat!("[`", stringify!($request), "`] is answered by [`", stringify!($answer), "`].")]
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl Operation for $name {
                const NAME: &'static str = stringify!($name);
                type Request = $request;
                type Answer = $answer;
            }
        )*

        /// Names of all operations, in the order of the table.
        pub const NAMES: &[&str] = &[$($name::NAME,)*];

        /// Visits all operations, in the order of the table.
        pub fn visit_all(visitor: &mut impl Visitor) {
            $(visitor.visit::<$name>();)*
        }
    };
}

operations! {
    Healthcheck: Empty => Empty,

    GetAccount: Empty => Account,
    UpdateAccount: UpdateAccountRequest => Empty,
    DeleteAccount: Empty => Empty,
    GetUsers: GetUsersRequest => Users,

    AuthenticateApple: AuthenticateAppleRequest => Session,
    AuthenticateCustom: AuthenticateCustomRequest => Session,
    AuthenticateDevice: AuthenticateDeviceRequest => Session,
    AuthenticateEmail: AuthenticateEmailRequest => Session,
    AuthenticateFacebook: AuthenticateFacebookRequest => Session,
    AuthenticateFacebookInstantGame: AuthenticateFacebookInstantGameRequest => Session,
    AuthenticateGameCenter: AuthenticateGameCenterRequest => Session,
    AuthenticateGoogle: AuthenticateGoogleRequest => Session,
    AuthenticateSteam: AuthenticateSteamRequest => Session,
    SessionRefresh: SessionRefreshRequest => Session,
    SessionLogout: SessionLogoutRequest => Empty,

    LinkApple: AccountApple => Empty,
    LinkCustom: AccountCustom => Empty,
    LinkDevice: AccountDevice => Empty,
    LinkEmail: AccountEmail => Empty,
    LinkFacebook: LinkFacebookRequest => Empty,
    LinkFacebookInstantGame: AccountFacebookInstantGame => Empty,
    LinkGameCenter: AccountGameCenter => Empty,
    LinkGoogle: AccountGoogle => Empty,
    LinkSteam: LinkSteamRequest => Empty,
    UnlinkApple: AccountApple => Empty,
    UnlinkCustom: AccountCustom => Empty,
    UnlinkDevice: AccountDevice => Empty,
    UnlinkEmail: AccountEmail => Empty,
    UnlinkFacebook: AccountFacebook => Empty,
    UnlinkFacebookInstantGame: AccountFacebookInstantGame => Empty,
    UnlinkGameCenter: AccountGameCenter => Empty,
    UnlinkGoogle: AccountGoogle => Empty,
    UnlinkSteam: AccountSteam => Empty,

    ListFriends: ListFriendsRequest => FriendList,
    ListFriendsOfFriends: ListFriendsOfFriendsRequest => FriendsOfFriendsList,
    AddFriends: AddFriendsRequest => Empty,
    DeleteFriends: DeleteFriendsRequest => Empty,
    BlockFriends: BlockFriendsRequest => Empty,
    ImportFacebookFriends: ImportFacebookFriendsRequest => Empty,
    ImportSteamFriends: ImportSteamFriendsRequest => Empty,

    ListGroups: ListGroupsRequest => GroupList,
    CreateGroup: CreateGroupRequest => Group,
    UpdateGroup: UpdateGroupRequest => Empty,
    DeleteGroup: DeleteGroupRequest => Empty,
    ListGroupUsers: ListGroupUsersRequest => GroupUserList,
    ListUserGroups: ListUserGroupsRequest => UserGroupList,
    JoinGroup: JoinGroupRequest => Empty,
    LeaveGroup: LeaveGroupRequest => Empty,
    AddGroupUsers: AddGroupUsersRequest => Empty,
    KickGroupUsers: KickGroupUsersRequest => Empty,
    BanGroupUsers: BanGroupUsersRequest => Empty,
    PromoteGroupUsers: PromoteGroupUsersRequest => Empty,
    DemoteGroupUsers: DemoteGroupUsersRequest => Empty,

    ListChannelMessages: ListChannelMessagesRequest => ChannelMessageList,
    ListNotifications: ListNotificationsRequest => NotificationList,
    DeleteNotifications: DeleteNotificationsRequest => Empty,

    ReadStorageObjects: ReadStorageObjectsRequest => StorageObjects,
    WriteStorageObjects: WriteStorageObjectsRequest => StorageObjectAcks,
    DeleteStorageObjects: DeleteStorageObjectsRequest => Empty,
    ListStorageObjects: ListStorageObjectsRequest => StorageObjectList,

    WriteLeaderboardRecord: WriteLeaderboardRecordRequest => LeaderboardRecord,
    DeleteLeaderboardRecord: DeleteLeaderboardRecordRequest => Empty,
    ListLeaderboardRecords: ListLeaderboardRecordsRequest => LeaderboardRecordList,
    ListLeaderboardRecordsAroundOwner: ListLeaderboardRecordsAroundOwnerRequest => LeaderboardRecordList,

    ListTournaments: ListTournamentsRequest => TournamentList,
    JoinTournament: JoinTournamentRequest => Empty,
    WriteTournamentRecord: WriteTournamentRecordRequest => LeaderboardRecord,
    DeleteTournamentRecord: DeleteTournamentRecordRequest => Empty,
    ListTournamentRecords: ListTournamentRecordsRequest => TournamentRecordList,
    ListTournamentRecordsAroundOwner: ListTournamentRecordsAroundOwnerRequest => TournamentRecordList,

    ListMatches: ListMatchesRequest => MatchList,
    ListParties: ListPartiesRequest => PartyList,
    GetMatchmakerStats: Empty => MatchmakerStats,

    ValidatePurchaseApple: ValidatePurchaseAppleRequest => ValidatePurchaseResponse,
    ValidatePurchaseFacebookInstant: ValidatePurchaseFacebookInstantRequest => ValidatePurchaseResponse,
    ValidatePurchaseGoogle: ValidatePurchaseGoogleRequest => ValidatePurchaseResponse,
    ValidatePurchaseHuawei: ValidatePurchaseHuaweiRequest => ValidatePurchaseResponse,
    ValidateSubscriptionApple: ValidateSubscriptionAppleRequest => ValidateSubscriptionResponse,
    ValidateSubscriptionGoogle: ValidateSubscriptionGoogleRequest => ValidateSubscriptionResponse,
    GetSubscription: GetSubscriptionRequest => ValidatedSubscription,
    ListSubscriptions: ListSubscriptionsRequest => SubscriptionList,

    RpcFunc: Rpc => Rpc,
    Event: api::Event => Empty,
}
