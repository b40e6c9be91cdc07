//! Sample friends, invites and blocks, and a notification for each new player.

use aether_services::account::SignedIn;
use aether_services::friend::NamedUsers;
use aether_services::notification::NewNotification;
use aether_services::{ServiceError, Services};
use uuid::Uuid;

/// Friends, by the numbers of the sample players.
const FRIENDS: [(usize, usize); 6] = [(0, 1), (0, 2), (1, 2), (1, 3), (4, 5), (0, 6)];
/// Invites that are not accepted: from the first to the second.
const INVITES: [(usize, usize); 3] = [(7, 0), (8, 0), (3, 4)];
/// Blocks: the first blocks the second.
const BLOCKS: [(usize, usize); 1] = [(2, 9)];
/// Code of the sample notification.
const WELCOME: i32 = 1;

/// Adds the relations of players who are new, and welcomes those. Returns the number of new friendships.
pub(super) async fn add_friends(services: &Services, players: &[SignedIn]) -> Result<usize, ServiceError> {
    let is_new = |&&(one, other): &&(usize, usize)| players[one].created || players[other].created;
    let users = |&(one, other): &(usize, usize)| (players[one].user, players[other].user);
    let named = |user: Uuid| NamedUsers { ids: vec![user], ..NamedUsers::default() };
    let mut friends = 0;
    for (one, other) in FRIENDS.iter().filter(is_new).map(users) {
        services.friends.add(one, named(other), "").await?;
        services.friends.add(other, named(one), "").await?;
        friends += 1;
    }
    for (from, to) in INVITES.iter().filter(is_new).map(users) {
        services.friends.add(from, named(to), "").await?;
    }
    for (from, to) in BLOCKS.iter().filter(is_new).map(users) {
        services.friends.block(from, named(to)).await?;
    }
    let welcome = |player: &SignedIn| NewNotification {
        user: player.user,
        subject: "Welcome".to_owned(),
        content: r#"{"coins":100}"#.to_owned(),
        code: WELCOME,
        sender: None,
        persistent: true,
    };
    let welcomes = players.iter().filter(|player| player.created).map(welcome).collect();
    services.notifications.send(welcomes).await?;
    Ok(friends)
}
