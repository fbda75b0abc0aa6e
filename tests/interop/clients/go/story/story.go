// Package story is what the programs share: the environment, the story they print, the way they end.
package story

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	Wait      = 30 * time.Second
	Committed = 5
)

var (
	Bootstrap = strings.Split(os.Getenv("BOOTSTRAP"), ",")
	Run       = os.Getenv("RUN")
)

func Say(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
}

func Fail(format string, args ...any) {
	fmt.Printf("FAILED: "+format+"\n", args...)
	os.Exit(1)
}

func Check(what string, err error) {
	if err != nil {
		Fail("%s: %v", what, err)
	}
}

func Hook(name, argument string) {
	if program := os.Getenv(name); program != "" {
		if out, err := exec.Command(program, argument).CombinedOutput(); err != nil {
			Fail("%s: %v: %s", program, err, out)
		}
	}
}

// Until waits for a condition, then tells it.
func Until(what string, condition func() bool) {
	deadline := time.Now().Add(Wait)
	for !condition() {
		if time.Now().After(deadline) {
			Fail("never: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
	Say("%s", what)
}

// Retry repeats what may fail while a coordinator moves.
func Retry(what string, fatal func(error) bool, try func() error) {
	deadline := time.Now().Add(Wait)
	for {
		err := try()
		if err == nil {
			return
		}
		if fatal(err) || time.Now().After(deadline) {
			Fail("%s: %v", what, err)
		}
		Say("%s: %v, once more", what, err)
		time.Sleep(100 * time.Millisecond)
	}
}

func Port(number int) string {
	return fmt.Sprint(number)
}
