//! The service over real databases, with a manual clock.

use crate::bracket::limits::{
    BRACKET_ID_BYTES_MAX, BRACKET_LIMIT_MAX, ENTRANTS_MAX, MATCH_SECONDS_MAX, METADATA_BYTES_MAX,
    ROUND_ROBIN_ENTRANTS_MAX, SWISS_ROUNDS_MAX, TITLE_BYTES_MAX,
};
use crate::bracket::{
    Bracket, BracketQuery, Brackets, Definition, Format, Outcome, Parts, Phase, Reason, Rules, Seeding, Slot, State,
    Verdict,
};
use crate::caller::Caller;
use crate::clock::ManualClock;
use crate::error::{GrpcCode, ServiceError};
use crate::leaderboard::{self, Leaderboards, RecordWrite, Score};
use crate::notification::{Notifications, code};
use crate::router::Router;
use aether_metrics::Registry;
use aether_store::{Store, StoreError, values};
use aether_testkit_store::TestDatabase;
use std::sync::Arc;
use uuid::Uuid;

const NOW_MS: i64 = 1_794_830_400_000;

struct Fixture {
    store: Store,
    clock: Arc<ManualClock>,
    boards: Arc<Leaderboards>,
    notifications: Arc<Notifications>,
    brackets: Arc<Brackets>,
}

impl Fixture {
    async fn at(database: &TestDatabase) -> Fixture {
        let fixture = Fixture::over(database.open().await, Arc::new(ManualClock::at(NOW_MS))).await;
        let users = fixture.store.write(|transaction| {
            for number in 1..=40_u128 {
                transaction.execute(
                    "INSERT INTO users (id, username, created_at, updated_at) VALUES (?1, ?2, 0, 0)",
                    values![user(number), &format!("user-{number}")],
                )?;
            }
            Ok::<_, StoreError>(())
        });
        users.await.unwrap();
        fixture
    }

    async fn over(store: Store, clock: Arc<ManualClock>) -> Fixture {
        let router = Arc::new(Router::new(&Registry::new()));
        let boards = Arc::new(Leaderboards::open(store.clone(), clock.clone()).await.unwrap());
        let notifications = Arc::new(Notifications::new(store.clone(), clock.clone(), Arc::clone(&router), false));
        let parts = Parts {
            store: store.clone(),
            clock: clock.clone(),
            boards: Arc::clone(&boards),
            notifications: Arc::clone(&notifications),
            router,
        };
        Fixture { store, clock, boards, notifications, brackets: Arc::new(Brackets::new(parts)) }
    }

    /// Returns the service after a restart: without anything in memory.
    async fn reopened(&self) -> Fixture {
        Fixture::over(self.store.clone(), Arc::clone(&self.clock)).await
    }

    /// Creates and starts a bracket of these users.
    async fn started(&self, definition: Definition, users: std::ops::RangeInclusive<u128>) -> Arc<Bracket> {
        let id = definition.id.clone();
        self.brackets.create(definition).await.unwrap();
        for number in users {
            self.clock.advance_ms(1);
            self.brackets.join(&id, user(number), number as i64).await.unwrap();
        }
        self.brackets.start(&id).await.unwrap()
    }

    /// Returns codes of the notifications of a user.
    async fn codes(&self, number: u128) -> Vec<i32> {
        let page = self.notifications.list(user(number), Some(100), "").await.unwrap();
        page.notifications.iter().map(|notification| notification.code).collect()
    }

    /// Erases a user, as the account service does.
    async fn erase(&self, number: u128) {
        let brackets = Arc::clone(&self.brackets);
        let erased = self.store.write(move |transaction| {
            brackets.forget_within(transaction, user(number))?;
            transaction.execute("DELETE FROM users WHERE id = ?1", values![user(number)])
        });
        erased.await.map_err(|error: StoreError| error).unwrap();
    }
}

fn user(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn cup(format: Format) -> Definition {
    let rules = Rules { format, rounds: 0, match_seconds: 60 };
    Definition { rules, ..Definition::new("cup", format) }
}

/// Returns the users of a match that can be played.
fn playable(bracket: &Bracket) -> Option<(usize, Uuid, Uuid)> {
    let games = bracket.machine.as_ref()?.games();
    let number = games.iter().position(|game| matches!(game.state, State::Ready { .. }))?;
    let [Slot::Seed(one), Slot::Seed(other)] = games[number].slots else { return None };
    Some((number, bracket.entrants[one].user?, bracket.entrants[other].user?))
}

#[tokio::test]
async fn a_bracket_is_played_to_its_end_and_replays_after_each_restart() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        for format in Format::ALL {
            let id = format.name();
            let mut bracket = fixture.started(Definition { id: id.to_owned(), ..cup(format) }, 1..=6).await;
            assert_eq!((bracket.phase, bracket.size), (Phase::Running, 6));
            while let Some((number, one, other)) = playable(&bracket) {
                fixture.clock.advance_ms(7);
                fixture.brackets.report(id, one, number, Verdict::Winner(other), [1, 2]).await.unwrap();
                let restarted = fixture.reopened().await;
                bracket = restarted.brackets.confirm(id, other, number).await.unwrap();
                assert_eq!(fixture.brackets.find(id).await.unwrap(), bracket, "{} {format:?}", database.name);
            }
            assert_eq!(bracket.phase, Phase::Finished, "{} {format:?}", database.name);
            let winner = bracket.winner().unwrap().user.unwrap();
            assert_eq!(fixture.codes(winner.as_u128()).await.last(), Some(&code::BRACKET_ENDED), "{}", database.name);
            let loser = if winner == user(1) { 2 } else { 1 };
            let codes = fixture.codes(loser).await;
            assert!(codes.contains(&code::BRACKET_MATCH_READY) && codes.contains(&code::BRACKET_ENDED), "{codes:?}");
            let late = fixture.brackets.report(id, user(1), 0, Verdict::Winner(user(1)), [0; 2]).await.unwrap_err();
            assert_eq!(late.code, GrpcCode::FailedPrecondition);
            assert_eq!(fixture.brackets.leave(id, user(1)).await.unwrap_err().code, GrpcCode::FailedPrecondition);
        }
    }
}

#[tokio::test]
async fn users_join_and_leave_until_the_start() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        fixture.brackets.create(Definition { max_size: 3, ..cup(Format::Single) }).await.unwrap();
        let alone = fixture.brackets.join("cup", user(1), 0).await.unwrap();
        assert_eq!((alone.size, alone.entrants[0].username.as_str()), (1, "user-1"));
        assert_eq!(fixture.brackets.start("cup").await.unwrap_err().code, GrpcCode::FailedPrecondition, "too few");
        assert_eq!(fixture.brackets.join("cup", user(1), 0).await.unwrap().size, 1, "joining again has no effect");
        fixture.brackets.join("cup", user(2), 0).await.unwrap();
        fixture.brackets.join("cup", user(3), 0).await.unwrap();
        assert_eq!(fixture.brackets.join("cup", user(4), 0).await.unwrap_err().code, GrpcCode::FailedPrecondition);
        assert_eq!(fixture.brackets.leave("cup", user(2)).await.unwrap().size, 2);
        assert_eq!(fixture.brackets.leave("cup", user(2)).await.unwrap_err().code, GrpcCode::PermissionDenied);
        assert_eq!(fixture.brackets.join("cup", user(99), 0).await.unwrap_err().code, GrpcCode::NotFound);
        let started = fixture.brackets.start("cup").await.unwrap();
        assert_eq!(started.entrants.len(), 2, "{}", database.name);
        assert_eq!(fixture.brackets.start("cup").await.unwrap_err().code, GrpcCode::FailedPrecondition);
        assert_eq!(fixture.brackets.join("cup", user(4), 0).await.unwrap_err().code, GrpcCode::FailedPrecondition);
        assert_eq!(fixture.brackets.find("missing").await.unwrap_err().code, GrpcCode::NotFound);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_joins_never_exceed_the_size_and_concurrent_reports_are_all_counted() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        fixture.brackets.create(Definition { max_size: 16, ..cup(Format::Single) }).await.unwrap();
        let joins: Vec<_> = (1..=40)
            .map(|number| {
                let brackets = Arc::clone(&fixture.brackets);
                tokio::spawn(async move { brackets.join("cup", user(number), 0).await })
            })
            .collect();
        let mut joined = 0;
        for join in joins {
            joined += usize::from(join.await.unwrap().is_ok());
        }
        assert_eq!(joined, 16, "{}", database.name);
        let bracket = fixture.brackets.start("cup").await.unwrap();
        assert_eq!(bracket.entrants.len(), 16);
        let reports: Vec<_> = bracket.machine.as_ref().unwrap().games()[..8]
            .iter()
            .enumerate()
            .flat_map(|(number, game)| {
                let [Slot::Seed(one), Slot::Seed(other)] = game.slots else { unreachable!() };
                let [one, other] = [one, other].map(|seed| bracket.entrants[seed].user.unwrap());
                [(number, one, one), (number, other, one)]
            })
            .map(|(number, reporter, winner)| {
                let brackets = Arc::clone(&fixture.brackets);
                tokio::spawn(
                    async move { brackets.report("cup", reporter, number, Verdict::Winner(winner), [0; 2]).await },
                )
            })
            .collect();
        for report in reports {
            report.await.unwrap().unwrap();
        }
        let bracket = fixture.reopened().await.brackets.find("cup").await.unwrap();
        let games = bracket.machine.as_ref().unwrap().games();
        assert!(games[..8].iter().all(|game| game.outcome() == Some(Outcome::First)), "{}", database.name);
        assert_eq!(games[8..12].iter().filter(|game| matches!(game.state, State::Ready { .. })).count(), 4);
    }
}

#[tokio::test]
async fn entrants_are_seeded_by_order_rating_or_rank() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    fixture.boards.create(leaderboard::Definition::new("ladder")).await.unwrap();
    for (number, score) in [(2, 50), (4, 90)] {
        let score = Score { score, subscore: 0 };
        let write = RecordWrite { owner: user(number), username: String::new(), score, operator: None, metadata: None };
        fixture.boards.write(&Caller::Server, "ladder", write).await.unwrap();
    }
    let seedings = [
        (Seeding::Order, [1, 2, 3, 4]),
        (Seeding::Rating, [4, 3, 2, 1]),
        (Seeding::Leaderboard("ladder".to_owned()), [4, 2, 1, 3]),
    ];
    for (index, (seeding, expected)) in seedings.into_iter().enumerate() {
        let definition = Definition { id: format!("cup-{index}"), seeding, ..cup(Format::Single) };
        let bracket = fixture.started(definition, 1..=4).await;
        let order: Vec<Uuid> = bracket.entrants.iter().filter_map(|entrant| entrant.user).collect();
        assert_eq!(order, expected.map(user));
    }
    let seeding = Seeding::Leaderboard("missing".to_owned());
    fixture.brackets.create(Definition { seeding, ..cup(Format::Single) }).await.unwrap();
    assert_eq!(fixture.brackets.start("cup").await.unwrap_err().code, GrpcCode::NotFound);
}

#[tokio::test]
async fn deadlines_pass_and_disputes_wait_for_the_operator() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        let bracket = fixture.started(cup(Format::Single), 1..=4).await;
        let (_, first, fourth) = playable(&bracket).unwrap();
        fixture.brackets.report("cup", first, 0, Verdict::Winner(first), [0; 2]).await.unwrap();
        let disputed = fixture.brackets.report("cup", fourth, 0, Verdict::Winner(fourth), [0; 2]).await.unwrap();
        assert!(disputed.machine.as_ref().unwrap().games()[0].is_disputed());
        fixture.brackets.tick().await.unwrap();
        fixture.clock.advance_ms(60_000);
        let restarted = fixture.reopened().await;
        restarted.brackets.tick().await.unwrap();
        let bracket = fixture.brackets.find("cup").await.unwrap();
        let games = bracket.machine.as_ref().unwrap().games();
        assert!(games[0].is_disputed(), "{}: a dispute does not end by itself", database.name);
        assert!(matches!(games[1].state, State::Decided { reason: Reason::Timeout, .. }), "{}", database.name);
        let stranger = fixture.brackets.resolve("cup", 0, Verdict::Winner(user(2)), [0; 2]).await.unwrap_err();
        assert_eq!(stranger.code, GrpcCode::InvalidArgument, "not in the match");
        fixture.brackets.resolve("cup", 0, Verdict::Winner(fourth), [3, 7]).await.unwrap();
        fixture.clock.advance_ms(60_000);
        fixture.brackets.tick().await.unwrap();
        let bracket = fixture.brackets.find("cup").await.unwrap();
        assert_eq!(bracket.phase, Phase::Finished);
        let version = bracket.version;
        fixture.brackets.tick().await.unwrap();
        assert_eq!(fixture.brackets.find("cup").await.unwrap().version, version, "nothing is due any more");
    }
}

#[tokio::test]
async fn a_deleted_account_leaves_the_bracket_but_its_place_stays() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        fixture.brackets.create(Definition { id: "next".to_owned(), ..cup(Format::Single) }).await.unwrap();
        fixture.brackets.join("next", user(2), 0).await.unwrap();
        fixture.started(cup(Format::Single), 1..=4).await;
        fixture.brackets.find("next").await.unwrap();
        fixture.erase(2).await;
        assert_eq!(fixture.brackets.find("next").await.unwrap().size, 0, "{}", database.name);
        fixture.brackets.tick().await.unwrap();
        for fixture in [&fixture, &fixture.reopened().await] {
            let bracket = fixture.brackets.find("cup").await.unwrap();
            assert_eq!((bracket.entrants.len(), bracket.entrants[1].user), (4, None), "{}", database.name);
            let machine = bracket.machine.as_ref().unwrap();
            assert!(machine.is_withdrawn(1), "{}", database.name);
            assert!(matches!(machine.games()[1].state, State::Decided { reason: Reason::Walkover, .. }));
        }
        let again = fixture.brackets.find("cup").await.unwrap().version;
        fixture.brackets.tick().await.unwrap();
        assert_eq!(fixture.brackets.find("cup").await.unwrap().version, again, "it is withdrawn once");
    }
}

#[tokio::test]
async fn only_entrants_of_a_match_report_it() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    fixture.started(cup(Format::Single), 1..=4).await;
    let brackets = &fixture.brackets;
    let report = async |number: u128, game: usize, winner: u128| -> Result<Arc<Bracket>, ServiceError> {
        brackets.report("cup", user(number), game, Verdict::Winner(user(winner)), [0; 2]).await
    };
    let errors = [
        (report(9, 0, 1).await.unwrap_err(), GrpcCode::PermissionDenied),
        (report(2, 0, 1).await.unwrap_err(), GrpcCode::PermissionDenied),
        (report(1, 0, 2).await.unwrap_err(), GrpcCode::InvalidArgument),
        (report(1, 99, 1).await.unwrap_err(), GrpcCode::NotFound),
        (report(1, 2, 1).await.unwrap_err(), GrpcCode::InvalidArgument),
        (brackets.confirm("cup", user(1), 0).await.unwrap_err(), GrpcCode::FailedPrecondition),
        (brackets.confirm("cup", user(1), 1).await.unwrap_err(), GrpcCode::PermissionDenied),
        (brackets.confirm("cup", user(1), 99).await.unwrap_err(), GrpcCode::NotFound),
    ];
    for (index, (error, code)) in errors.into_iter().enumerate() {
        assert_eq!(error.code, code, "{index}: {error}");
    }
}

#[tokio::test]
async fn brackets_are_listed_by_phase_and_deleted() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        for number in 0..5 {
            fixture.clock.advance_ms(1);
            let definition = Definition { id: format!("cup-{number}"), ..cup(Format::Swiss) };
            fixture.brackets.create(definition).await.unwrap();
        }
        fixture.started(cup(Format::Swiss), 1..=2).await;
        let ids = async |query: BracketQuery| {
            let list = fixture.brackets.list(&query).await.unwrap();
            (list.brackets.iter().map(|bracket| bracket.definition.id.clone()).collect::<Vec<_>>(), list.cursor)
        };
        let (running, _) = ids(BracketQuery { phase: Some(Phase::Running), ..BracketQuery::default() }).await;
        assert_eq!(running, ["cup"], "{}", database.name);
        let open = BracketQuery { phase: Some(Phase::Registration), limit: Some(3), ..BracketQuery::default() };
        let (first, cursor) = ids(open.clone()).await;
        assert_eq!(first, ["cup-4", "cup-3", "cup-2"], "{}: the newest first", database.name);
        let (rest, cursor) = ids(BracketQuery { cursor, ..open }).await;
        assert_eq!((rest, cursor.as_str()), (vec!["cup-1".to_owned(), "cup-0".to_owned()], ""));
        assert!(fixture.brackets.delete("cup").await.unwrap());
        assert!(!fixture.brackets.delete("cup").await.unwrap());
        assert_eq!(fixture.brackets.find("cup").await.unwrap_err().code, GrpcCode::NotFound);
        fixture.started(cup(Format::Single), 1..=3).await;
        assert_eq!(fixture.brackets.find("cup").await.unwrap().size, 3, "{}: the id is free again", database.name);
        for limit in [0, BRACKET_LIMIT_MAX as i64 + 1] {
            let query = BracketQuery { limit: Some(limit), ..BracketQuery::default() };
            assert_eq!(fixture.brackets.list(&query).await.unwrap_err().code, GrpcCode::InvalidArgument);
        }
        let query = BracketQuery { cursor: "?".to_owned(), ..BracketQuery::default() };
        assert_eq!(fixture.brackets.list(&query).await.unwrap_err().code, GrpcCode::InvalidArgument);
    }
}

#[tokio::test]
async fn definitions_outside_the_limits_are_rejected() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    let swiss = cup(Format::Swiss);
    let rules = |rounds: u32, match_seconds: i64| Rules { rounds, match_seconds, ..swiss.rules };
    let wrong = [
        Definition { id: String::new(), ..swiss.clone() },
        Definition { id: "x".repeat(BRACKET_ID_BYTES_MAX + 1), ..swiss.clone() },
        Definition { id: "nul\0".to_owned(), ..swiss.clone() },
        Definition { title: "x".repeat(TITLE_BYTES_MAX + 1), ..swiss.clone() },
        Definition { max_size: 1, ..swiss.clone() },
        Definition { max_size: ENTRANTS_MAX + 1, ..swiss.clone() },
        Definition { max_size: ROUND_ROBIN_ENTRANTS_MAX + 1, ..cup(Format::RoundRobin) },
        Definition { rules: rules(0, -1), ..swiss.clone() },
        Definition { rules: rules(0, MATCH_SECONDS_MAX + 1), ..swiss.clone() },
        Definition { rules: rules(8, 0), max_size: 8, ..swiss.clone() },
        Definition { rules: rules(SWISS_ROUNDS_MAX + 1, 0), ..swiss.clone() },
        Definition { rules: Rules { rounds: 1, ..cup(Format::Single).rules }, ..cup(Format::Single) },
        Definition { seeding: Seeding::Leaderboard(String::new()), ..swiss.clone() },
        Definition { metadata: "[]".to_owned(), ..swiss.clone() },
        Definition { metadata: format!(r#"{{"a":"{}"}}"#, "x".repeat(METADATA_BYTES_MAX)), ..swiss.clone() },
    ];
    for (index, definition) in wrong.into_iter().enumerate() {
        let error = fixture.brackets.create(definition).await.unwrap_err();
        assert_eq!(error.code, GrpcCode::InvalidArgument, "{index}");
    }
    fixture.brackets.create(swiss.clone()).await.unwrap();
    assert_eq!(fixture.brackets.create(swiss).await.unwrap_err().code, GrpcCode::AlreadyExists);
}
