// Replies to each message with its text in capitals.
package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"log"
	"net"
	"os"
	"strings"

	"github.com/vmihailenco/msgpack/v5"
)

type task struct {
	Body string `msgpack:"0"` // of text or bytes
}

type answer struct {
	Body   string `msgpack:"0"`
	Status int    `msgpack:"1"`
}

func readFrame(pipe io.Reader) ([]byte, error) {
	var size uint32
	if err := binary.Read(pipe, binary.BigEndian, &size); err != nil {
		return nil, err
	}
	frame := make([]byte, size)
	_, err := io.ReadFull(pipe, frame)
	return frame, err
}

func handle(frame []byte) ([]byte, error) {
	var t task
	if err := msgpack.Unmarshal(frame, &t); err != nil {
		return nil, err
	}
	return msgpack.Marshal(answer{Body: strings.ToUpper(t.Body), Status: 201})
}

func main() {
	log.SetFlags(0)
	address, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return
	}
	pipe, err := net.Dial("unix", strings.TrimSuffix(address, "\n"))
	if err != nil {
		log.Fatal(err)
	}
	for {
		frame, err := readFrame(pipe)
		if err == io.EOF {
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		reply, err := handle(frame)
		if err != nil {
			log.Fatal(err)
		}
		if _, err := pipe.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(reply))), reply...)); err != nil {
			log.Fatal(err)
		}
	}
}
